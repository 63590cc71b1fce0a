"""How the inner loop turns gradients into updates (eq. 2)."""

import abc
from contextlib import AbstractContextManager
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree


class Optimizer(eqx.Module):
    """An update rule. It is a module, so its arrays (a learned rate, say) are trained by the outer loop."""

    @abc.abstractmethod
    def init(self, weights: PyTree[Array]) -> PyTree[Array]:
        """What the rule carries from step to step."""

    @abc.abstractmethod
    def step(
        self, gradient: PyTree[Array], state: PyTree[Array], weights: PyTree[Array], t: Int[Array, ""] | int
    ) -> tuple[PyTree[Array], PyTree[Array]]:
        """New weights and new state after step t = 0, 1, …"""

    @abc.abstractmethod
    def with_rate(self, rate: float) -> "Optimizer":
        """The same rule with another, fixed rate; a ValueError where there is no such thing."""


class GradientDescent(Optimizer):
    """W ← W − η∇ℓ. A number for η is fixed; an array is learned by the outer loop.

    An array is one rate, shape (), or one for each step, shape (T,). A loop that is longer than the array goes on with
    the last rate.
    """

    rate: float | Float[Array, ""] | Float[Array, " T"]

    def __init__(self, rate: Any = 1.0):
        self.rate = float(rate) if isinstance(rate, int | float) else jnp.asarray(rate)
        if jnp.ndim(self.rate) > 1:
            raise ValueError(f"a rate of shape {jnp.shape(self.rate)}: take one number, or one for each step")

    def init(self, weights: PyTree[Array]) -> None:
        return None

    def step(
        self, gradient: PyTree[Array], state: None, weights: PyTree[Array], t: Int[Array, ""] | int
    ) -> tuple[PyTree[Array], None]:
        rate = self.rate
        if isinstance(rate, jax.Array) and rate.ndim == 1:
            rate = rate[jnp.minimum(t, rate.shape[0] - 1)]
        return jax.tree.map(lambda w, g: w - rate * g, weights, gradient), None

    def with_rate(self, rate: float) -> "GradientDescent":
        return GradientDescent(rate)


def _promotion() -> AbstractContextManager[None]:
    """Optax promotes dtypes implicitly; our callers may forbid that."""
    return jax.numpy_dtype_promotion("standard")


class OptaxOptimizer(Optimizer):
    """Any Optax transformation as the inner optimizer; its state is carried through the steps of one input."""

    transformation: optax.GradientTransformation

    def init(self, weights: PyTree[Array]) -> Any:
        with _promotion():
            return self.transformation.init(weights)

    def step(
        self, gradient: PyTree[Array], state: Any, weights: PyTree[Array], t: Int[Array, ""] | int
    ) -> tuple[PyTree[Array], Any]:
        with _promotion():
            updates, state = self.transformation.update(gradient, state, weights)
            return optax.apply_updates(weights, updates), state

    def with_rate(self, rate: float) -> Optimizer:
        raise ValueError("the rate of an Optax optimizer is inside it and cannot be changed from outside")
