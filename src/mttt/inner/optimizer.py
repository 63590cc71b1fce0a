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
    """How the inner loop turns gradients into updates, the paper's equation 2.

    It is a module, so its arrays (a learned rate, say) are trained by the outer loop. Numbers and functions that are
    not learned belong in static fields (`eqx.field(static=True)`). In other fields they are leaves: `eqx.filter_jit`
    and `eqx.filter_grad` leave them alone, but `jax.jit` traces numbers and refuses functions, and `jax.grad` gives
    numbers a gradient.

    To implement: `init(weights)` and `step(gradient, state, weights, t)`. Weights and gradients are pytrees like the
    learner.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Signs(mttt.Optimizer):
        ...     rate: jax.Array
        ...     def init(self, weights):
        ...         return None
        ...     def step(self, gradient, state, weights, t):
        ...         return jax.tree.map(lambda w, g: w - self.rate * jnp.sign(g), weights, gradient), state
        >>> how = Signs(jnp.asarray(0.1))
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, optimizer=how, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    @abc.abstractmethod
    def init(self, weights: PyTree[Array]) -> PyTree[Array]:
        """What the rule carries from step to step: its state at t = 0."""

    @abc.abstractmethod
    def step(
        self, gradient: PyTree[Array], state: PyTree[Array], weights: PyTree[Array], t: Int[Array, ""] | int
    ) -> tuple[PyTree[Array], PyTree[Array]]:
        """New weights and new state after step t = 0, 1, …"""


@final
class GradientDescent(Optimizer):
    """W ← W − η∇ℓ(W).

    All heads of a layer begin with the same rate; a learned one becomes each head's own.

    Arguments:
    - rate: η. A number is fixed, 1.0 by default. An array is learned by the outer loop: () is one rate, (T,) one for
      each step. A loop of more than T steps goes on with the last rate

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> optimizer = mttt.GradientDescent(jnp.array([1.0, 0.5]))
        >>> [float(optimizer.rate_at(t)) for t in range(3)]
        [1.0, 0.5, 0.5]
        >>> weights, _ = mttt.GradientDescent(0.5).step(jnp.ones(2), None, jnp.zeros(2), 0)
        >>> weights.tolist()
        [-0.5, -0.5]
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

    The hyper-parameters are there to be read and replaced under `hyperparameters`, for example with `eqx.tree_at`. Give
    `optax.adam` an `eps_root` above 0: the outer gradient goes through its square root, which has no derivative at 0.

    Arguments:
    - make: what makes the transformation of its hyper-parameters, such as `optax.sgd`
    - hyperparameters: by their names. A number or a function is fixed, a `Constant`; an array () is learned by the
      outer loop

    Example:

        >>> import jax.numpy as jnp, mttt, optax
        >>> optimizer = mttt.OptaxOptimizer(optax.sgd, learning_rate=jnp.asarray(0.5), momentum=0.5)
        >>> weights, state = jnp.zeros(2), optimizer.init(jnp.zeros(2))
        >>> for t in range(2):
        ...     weights, state = optimizer.step(jnp.ones(2), state, weights, t)
        >>> weights.tolist()
        [-1.25, -1.25]
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
