"""Tasks: what the inner loop learns."""

import abc
from collections.abc import Callable

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

    def slope_at_zero(self, inputs: Float[Array, "m k"], targets: PyTree[Array]) -> Float[Array, "m k"]:
        """The gradient of the mean loss of some rows at the answer 0."""
        if self.slope is not None:
            return self.slope(targets) / inputs.shape[0]
        return jax.grad(lambda answers: self.mean_loss(answers, targets))(jnp.zeros_like(inputs))

    def mean_loss(self, answers: Float[Array, "m k"], targets: PyTree[Array]) -> Float[Array, ""]:
        """What the inner loop descends on."""
        return jnp.mean(self.losses(answers, targets))


class Task(eqx.Module):
    """Poses the inner loop's problem. One head of one input: tokens are (n, d), the learner is k wide."""

    @abc.abstractmethod
    def __call__(self, tokens: Float[Array, "n d"]) -> Problem:
        """The problem for these tokens."""

    @abc.abstractmethod
    def report(self, losses: Float[Array, "*t"]) -> Float[Array, "*t"]:
        """The inner losses in the unit in which people should see them."""
