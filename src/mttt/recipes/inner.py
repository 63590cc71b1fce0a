"""Recipes of inner loops: the optimizers, and how a recipe says them."""

import math
from dataclasses import dataclass

import jax.numpy as jnp
import optax

from mttt.inner import GradientDescent, OptaxOptimizer, Optimizer
from mttt.recipes.check import fraction, positive


@dataclass(frozen=True)
class FixedRate:
    """Gradient descent with a fixed rate η (below 0: ascent, a control experiment)."""

    rate: float = 1.0
    """η"""

    def __post_init__(self):
        if not math.isfinite(self.rate):
            raise ValueError(f"rate={self.rate}: must be a finite number")

    def build(self, steps: int) -> Optimizer:
        return GradientDescent(self.rate)


@dataclass(frozen=True)
class LearnedRate:
    """Gradient descent with a rate η that the outer loop learns, one for each head of each layer."""

    start: float = 1.0
    """η before training"""
    per_step: bool = False
    """learn a rate for each of the T steps"""

    def __post_init__(self):
        positive(start=self.start)

    def build(self, steps: int) -> Optimizer:
        return GradientDescent(jnp.full((max(steps, 1),) if self.per_step else (), self.start))


@dataclass(frozen=True)
class Momentum:
    """Gradient descent with momentum, through Optax."""

    rate: float = 1.0
    """η"""
    momentum: float = 0.9
    """how much of the last update is kept"""

    def __post_init__(self):
        positive(rate=self.rate)
        fraction(momentum=self.momentum)

    def build(self, steps: int) -> Optimizer:
        return OptaxOptimizer(optax.sgd, learning_rate=self.rate, momentum=self.momentum)


@dataclass(frozen=True)
class InnerAdam:
    """Adam in the inner loop, through Optax."""

    rate: float = 0.01
    """η"""

    def __post_init__(self):
        positive(rate=self.rate)

    def build(self, steps: int) -> Optimizer:
        # The square root of Adam has no derivative at 0, where a gradient may start; eps_root keeps it away from there.
        return OptaxOptimizer(optax.adam, learning_rate=self.rate, eps_root=1e-8)


InnerOptimizer = FixedRate | LearnedRate | Momentum | InnerAdam

INNER_OPTIMIZERS: dict[str, type] = {
    "fixed-rate": FixedRate,
    "learned-rate": LearnedRate,
    "momentum": Momentum,
    "adam": InnerAdam,
}
