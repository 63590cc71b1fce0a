"""How the inner loop turns gradients into updates (eq. 2)."""

import abc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, cast, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PyTree

from mttt.nn.check import check_finite
from mttt.nn.roles import Constant, constant_unless_array, value_of


class Optimizer(eqx.Module):
    """An update rule. It is a module, so its arrays (a learned rate, say) are trained by the outer loop.

    Numbers and functions that are not learned belong in static fields (`eqx.field(static=True)`). In other fields they
    are leaves: `eqx.filter_jit` and `eqx.filter_grad` leave them alone, but `jax.jit` traces numbers and refuses
    functions, and `jax.grad` gives numbers a gradient.
    """

    @abc.abstractmethod
    def init(self, weights: PyTree[Array]) -> PyTree[Array]:
        """What the rule carries from step to step."""

    @abc.abstractmethod
    def step(
        self, gradient: PyTree[Array], state: PyTree[Array], weights: PyTree[Array], t: Int[Array, ""] | int
    ) -> tuple[PyTree[Array], PyTree[Array]]:
        """New weights and new state after step t = 0, 1, …"""


@final
class GradientDescent(Optimizer):
    """W ← W − η∇ℓ. A number for η is fixed; an array is learned by the outer loop.

    An array is one rate, shape (), or one for each step, shape (T,). A loop that is longer than the array goes on with
    the last rate.
    """

    rate: Constant | Float[Array, ""] | Float[Array, " T"]

    def __init__(self, rate: Any = 1.0):
        if not isinstance(rate, int | float | np.generic | str | None):
            rate = _rates(rate)
        check_finite(rate=rate)
        self.rate = rate if isinstance(rate, jax.Array) else Constant(float(cast(float, rate)))

    def init(self, weights: PyTree[Array]) -> None:
        return None

    def rate_at(self, t: Int[Array, ""] | int) -> Float[Array, ""] | float:
        """η of step t."""
        rate = value_of(self.rate)
        if isinstance(rate, jax.Array) and rate.ndim == 1:
            rate = rate[jnp.minimum(t, rate.shape[0] - 1)]
        return rate

    def step(
        self, gradient: PyTree[Array], state: None, weights: PyTree[Array], t: Int[Array, ""] | int
    ) -> tuple[PyTree[Array], None]:
        rate = self.rate_at(t)
        times = lambda g: (rate.astype(g.dtype) if isinstance(rate, jax.Array) else rate) * g  # noqa: E731
        return jax.tree.map(lambda w, g: w - times(g), weights, gradient), None


def _rates(given: Any) -> Array:
    rates = jnp.asarray(given)
    if rates.ndim > 1 or not rates.size:
        raise ValueError(f"a rate of shape {rates.shape}: take one number, or one for each step")
    return rates if jnp.issubdtype(rates.dtype, jnp.floating) else rates.astype(float)


def _promotion() -> AbstractContextManager[None]:
    """Optax promotes dtypes implicitly; our callers may forbid that."""
    return jax.numpy_dtype_promotion("standard")


@final
class OptaxOptimizer(Optimizer):
    """Any Optax transformation as the inner optimizer; its state is carried through the steps of one input.

    `make` is what makes the transformation of its hyper-parameters: `OptaxOptimizer(optax.sgd, learning_rate=0.3,
    momentum=0.9)`. A number is fixed, a `Constant`; an array is learned by the outer loop. They are there to be read
    and replaced (`eqx.tree_at`) under `hyperparameters`.
    """

    make: Callable[..., optax.GradientTransformation] = eqx.field(static=True)
    hyperparameters: dict[str, Any]

    def __init__(self, make: Callable[..., optax.GradientTransformation], **hyperparameters: Any):
        if isinstance(make, optax.GradientTransformation):
            raise TypeError(
                "OptaxOptimizer takes what makes a transformation, and its hyper-parameters, so that these can be "
                "learned and replaced: instead of OptaxOptimizer(optax.sgd(0.3)) write "
                "OptaxOptimizer(optax.sgd, learning_rate=0.3)"
            )
        self.make = make
        self.hyperparameters = {name: constant_unless_array(value) for name, value in hyperparameters.items()}
        for name, value in self.hyperparameters.items():
            if isinstance(value_of(value), float | jax.Array):
                check_finite(**{name: value})
        self._transformation()  # an unknown or missing hyper-parameter shows here

    def _transformation(self) -> optax.GradientTransformation:
        return self.make(**{name: value_of(value) for name, value in self.hyperparameters.items()})

    def init(self, weights: PyTree[Array]) -> Any:
        with _promotion():
            return self._transformation().init(weights)

    def step(
        self, gradient: PyTree[Array], state: Any, weights: PyTree[Array], t: Int[Array, ""] | int
    ) -> tuple[PyTree[Array], Any]:
        with _promotion():
            updates, state = self._transformation().update(gradient, state, weights)
            return optax.apply_updates(weights, updates), state
