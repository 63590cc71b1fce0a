"""How the outer loop learns: a rule, and the optimizer that the rule hands its direction to."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import optax

from mttt.outer import EvolutionStrategies, ExactGradient, Rule, constant_schedule, outer_optimizer, schedule
from mttt.recipes.check import fraction, not_negative, positive


@dataclass(frozen=True)
class AdamRecipe:
    """Adam, clipped, with decoupled weight decay on kernels, and linear warm-up."""

    rate: float = 1e-3
    """peak rate"""
    warmup: float = 0.1
    """part of the training in which the rate rises from 0 to its peak"""
    schedule: Literal["cosine", "constant"] = "cosine"
    """after the warm-up: cosine falls to 0 at the end; constant stays at the peak, so that a run can be made longer"""
    decay: float = 1e-4
    """part of a kernel that a step takes away at the peak rate"""
    clip: float = 1.0
    """largest global norm of the gradient"""
    b1: float = 0.9
    """memory of the first moment"""
    b2: float = 0.999
    """memory of the second moment"""
    bfloat16_moment: bool = False
    """keep the first moment in bfloat16"""

    def __post_init__(self):
        positive(rate=self.rate, clip=self.clip)
        not_negative(decay=self.decay)
        fraction(warmup=self.warmup, b1=self.b1, b2=self.b2)

    def warmup_steps(self, steps: int) -> int:
        """How many steps of a training of so many the rate rises."""
        return min(round(self.warmup * steps), steps - 1)

    def build(self, steps: int) -> tuple[optax.GradientTransformation, optax.Schedule]:
        """The optimizer of a training of so many steps, and its rate, step by step."""
        warmup = self.warmup_steps(steps)
        if self.schedule == "cosine":
            rate = schedule(peak=self.rate, warmup=warmup, steps=steps)
        else:
            rate = constant_schedule(peak=self.rate, warmup=warmup)
        optimizer = outer_optimizer(
            rate,
            peak=self.rate,
            decay=self.decay,
            clip=self.clip,
            b1=self.b1,
            b2=self.b2,
            bfloat16_moment=self.bfloat16_moment,
        )
        return optimizer, rate


@dataclass(frozen=True)
class ExactRecipe:
    """The exact gradient, through the inner loops."""

    kind: ClassVar[str] = "exact"
    accumulate: int = 1
    """send each batch through the model in this many parts: less memory"""

    keeps: ClassVar[bool] = True  # what goes into every block, for the backward pass

    @property
    def parts(self) -> int:
        """In how many parts a batch goes through the model."""
        return self.accumulate

    def __post_init__(self):
        positive(accumulate=self.accumulate)

    def build(self, optimizer: optax.GradientTransformation) -> Rule:
        return ExactGradient(optimizer, self.accumulate)


@dataclass(frozen=True)
class EvolutionRecipe:
    """Evolution strategies: an estimate of the gradient that takes forward passes only."""

    kind: ClassVar[str] = "evolution"
    pairs: int = 8
    """antithetic pairs of perturbed models a step: each is two forward passes"""
    sigma: float = 0.02
    """size of the perturbation of every parameter"""

    keeps: ClassVar[bool] = False
    parts: ClassVar[int] = 1

    def __post_init__(self):
        positive(2**20, pairs=self.pairs)
        positive(sigma=self.sigma)

    def build(self, optimizer: optax.GradientTransformation) -> Rule:
        return EvolutionStrategies(optimizer, pairs=self.pairs, sigma=self.sigma)


OuterRecipe = ExactRecipe | EvolutionRecipe
