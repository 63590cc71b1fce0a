"""A control: steps as long as those of gradient descent, in directions that know nothing of the input."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from mttt.inner.optimizer import Optimizer
from mttt.nn.check import check_finite
from mttt.nn.dense import at_least_float32


@final
class RandomDirection(Optimizer):
    """W ← W − η ‖∇ℓ(W)‖ u_t, where u_t is a random direction of norm 1, the same for every input.

    A control for experiments: of the gradient, only its length is left. What a layer with it can do, it does without
    learning. Norms are those of all arrays of W together.

    Arguments:
    - rate: η, a number
    - seed: of the directions u_0, u_1, …

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> weights, _ = mttt.RandomDirection(0.5).step(3 * jnp.ones(4), None, jnp.zeros(4), 0)
        >>> round(float(jnp.linalg.norm(weights)), 4)
        3.0
    """

    rate: float = eqx.field(static=True)
    seed: int = eqx.field(static=True)

    def __init__(self, rate: float = 1.0, seed: int = 0):
        check_finite(rate=rate)
        self.rate, self.seed = float(rate), seed

    def init(self, weights: PyTree[Array]) -> None:
        return None

    def step(
        self, gradient: PyTree[Array], state: None, weights: PyTree[Array], t: Int[Array, ""] | int
    ) -> tuple[PyTree[Array], None]:
        leaves, structure = jax.tree.flatten(gradient)
        keys = jax.random.split(jax.random.fold_in(jax.random.key(self.seed), t), len(leaves))
        drawn = [jax.random.normal(key, leaf.shape, leaf.dtype) for key, leaf in zip(keys, leaves, strict=True)]
        direction = jax.tree.unflatten(structure, drawn)
        length = self.rate * _norm(gradient) / _norm(direction)
        return jax.tree.map(lambda w, u: w - length.astype(u.dtype) * u, weights, direction), None


def _norm(arrays: PyTree[Array]) -> Array:
    """Of all arrays together. Its derivative at 0, where a gradient may be, is 0, not NaN."""
    squares = [jnp.sum(jnp.square(at_least_float32(leaf))) for leaf in jax.tree.leaves(arrays)]
    with jax.numpy_dtype_promotion("standard"):  # arrays of W may have several dtypes
        total = jnp.asarray(sum(squares))
    return jnp.where(total > 0, jnp.sqrt(jnp.where(total > 0, total, 1.0)), 0.0)
