"""The gated neural network of large chunks."""

from typing import final

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.layered import Apply, LayeredLearner
from mttt.inner.linear import Linear
from mttt.nn.check import check_whole
from mttt.nn.dense import xavier_uniform


@final
class SwiGLULearner(LayeredLearner):
    """f(x; W) = (SiLU(xA) ⊙ xB)C, the gated network of large chunks, without biases. (n, k) ↦ (n, k).

    It is the inner model of LaCT, for `AnswerThenLearn` with many tokens a chunk. A step costs O(n·factor·k²).

    Arguments:
    - width: k, the width of the head that learns
    - factor: how many times wider than k the hidden layer is; 2 by default
    - kernel_init: draws A₀ and B₀ (k, factor·k) and C₀ (factor·k, k); uniform after Xavier by default
    - key: random key for W₀

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> learner = mttt.SwiGLULearner(8, key=jax.random.key(0))
        >>> learner(jnp.ones((10, 8))).shape, learner.gate.weight.shape
        ((10, 8), (8, 16))

    Reference: Zhang et al. (2025), *Test-Time Training Done Right*, arXiv 2505.23884.
    """

    gate: Linear
    up: Linear
    down: Linear
    expansion: float = eqx.field(static=True)

    def __init__(
        self,
        width: int,
        *,
        factor: int = 2,
        kernel_init: jax.nn.initializers.Initializer = xavier_uniform,
        key: PRNGKeyArray,
    ):
        check_whole(width=width, factor=factor)
        keys, wide = jax.random.split(key, 3), factor * width
        shapes = ((width, wide), (width, wide), (wide, width))
        self.gate, self.up, self.down = (Linear(kernel_init(k, s)) for k, s in zip(keys, shapes, strict=True))
        self.expansion = float(factor)

    def through(self, inputs: Float[Array, "n k"], apply: Apply) -> Float[Array, "n k"]:
        return apply(self.down, jax.nn.silu(apply(self.gate, inputs)) * apply(self.up, inputs))
