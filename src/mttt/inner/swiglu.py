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
    """x ↦ (SiLU(xA) ⊙ xB) C, without biases; the hidden layer is `factor` times as wide (Zhang et al., 2025)."""

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
