"""Tasks: what the inner loop learns."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


class Problem(eqx.Module):
    """The learning problem that a task poses on one input: the tokens as a data set.

    `inputs` and every array of `targets` have one row a token, so that a batching can pick rows.
    `losses(answers, targets)` gives the loss of each row; the inner loop descends on the mean.
    `labels` is what a learner without weights shall remember for each token, None if the task has no such thing.
    `slope(targets)` is the gradient of each row's loss at the answer 0, for tasks that know it more cheaply than
    automatic differentiation finds it; learners that start at W₀ = 0 use it.
    """

    inputs: Float[Array, "n k"]
    targets: PyTree[Array]
    losses: Callable[[Float[Array, "m k"], PyTree[Array]], Float[Array, " m"]]
    labels: Float[Array, "n k"] | None = None
    slope: Callable[[PyTree[Array]], Float[Array, "m k"]] | None = None

    def slope_at_zero(self) -> Float[Array, "n k"]:
        """The gradient of each row's loss at the answer 0."""
        if self.slope is not None:
            return self.slope(self.targets)
        return jax.grad(lambda answers: jnp.sum(self.losses(answers, self.targets)))(jnp.zeros_like(self.inputs))


class Task(eqx.Module):
    """Poses the inner loop's problem. One head of one input: tokens are (n, d), the learner is k wide.

    `tokenwise` is True for a task that poses each token's problem from that token alone: the problem of some tokens is
    then those rows of the problem of all. The inner loop may pose it a few tokens at a time, where they are needed. A
    subclass with another `__call__` has to say it again.
    """

    tokenwise: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if "__call__" in vars(cls) and "tokenwise" not in vars(cls):
            cls.tokenwise = False

    @abc.abstractmethod
    def __call__(self, tokens: Float[Array, "n d"]) -> Problem:
        """The problem for these tokens."""

    @abc.abstractmethod
    def report(self, losses: Float[Array, "*t"]) -> Float[Array, "*t"]:
        """The inner losses in the unit in which people should see them."""
