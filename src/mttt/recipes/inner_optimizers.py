"""Recipes of the inner loop's optimizers. `build` gets T; `at_rate` is the same optimizer with another, fixed η."""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp
import optax

from mttt.inner import GradientDescent, OptaxOptimizer, Optimizer, RandomDirection
from mttt.recipes.check import fraction, positive, within


@dataclass(frozen=True)
class FixedRateRecipe:
    """Gradient descent with a fixed rate η (below 0: ascent, a control experiment)."""

    kind: ClassVar[str] = "fixed-rate"

    rate: float = 1.0
    """η"""

    def __post_init__(self):
        within(rate=self.rate)

    def build(self, steps: int) -> Optimizer:
        return GradientDescent(self.rate)

    def at_rate(self, rate: float) -> "FixedRateRecipe":
        return FixedRateRecipe(rate)


@dataclass(frozen=True)
class LearnedRateRecipe:
    """Gradient descent with a rate η that the outer loop learns, one for each head of each layer."""

    kind: ClassVar[str] = "learned-rate"

    start: float = 1.0
    """η before training"""
    per_step: bool = False
    """learn a rate for each of the T steps"""

    def __post_init__(self):
        positive(start=self.start)

    def build(self, steps: int) -> Optimizer:
        return GradientDescent(jnp.full((max(steps, 1),) if self.per_step else (), self.start))

    def at_rate(self, rate: float) -> FixedRateRecipe:
        return FixedRateRecipe(rate)


@dataclass(frozen=True)
class MomentumRecipe:
    """Gradient descent with momentum, through Optax."""

    kind: ClassVar[str] = "momentum"

    rate: float = 1.0
    """η"""
    momentum: float = 0.9
    """how much of the last update is kept"""

    def __post_init__(self):
        positive(rate=self.rate)
        fraction(momentum=self.momentum)

    def build(self, steps: int) -> Optimizer:
        return OptaxOptimizer(optax.sgd, learning_rate=self.rate, momentum=self.momentum)

    def at_rate(self, rate: float) -> "MomentumRecipe":
        return replace(self, rate=rate)


@dataclass(frozen=True)
class InnerAdamRecipe:
    """Adam in the inner loop, through Optax."""

    kind: ClassVar[str] = "adam"

    rate: float = 0.01
    """η"""

    def __post_init__(self):
        positive(rate=self.rate)

    def build(self, steps: int) -> Optimizer:
        # The square root of Adam has no derivative at 0, where a gradient may start; eps_root keeps it away from there.
        return OptaxOptimizer(optax.adam, learning_rate=self.rate, eps_root=1e-8)

    def at_rate(self, rate: float) -> "InnerAdamRecipe":
        return replace(self, rate=rate)


@dataclass(frozen=True)
class RandomDirectionRecipe:
    """Steps as long as the gradient, in random directions: a control experiment."""

    kind: ClassVar[str] = "random-direction"

    rate: float = 1.0
    """η"""

    def __post_init__(self):
        positive(rate=self.rate)

    def build(self, steps: int) -> Optimizer:
        return RandomDirection(self.rate)

    def at_rate(self, rate: float) -> "RandomDirectionRecipe":
        return RandomDirectionRecipe(rate)


InnerOptimizerRecipe = FixedRateRecipe | LearnedRateRecipe | MomentumRecipe | InnerAdamRecipe | RandomDirectionRecipe
