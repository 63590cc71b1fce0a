"""The linear learner: one step from W₀ = 0 is linear attention. And the same with a bias."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.layered import Apply, LayeredLearner
from mttt.nn.check import check_rows, check_whole
from mttt.nn.dense import xavier_uniform
from mttt.nn.products import forward


class Linear(eqx.Module):
    """x ↦ xA, or xA + b."""

    weight: Float[Array, "i o"]
    bias: Float[Array, " o"] | None = None

    def __call__(self, inputs: Float[Array, "n i"]) -> Float[Array, "n o"]:
        check_rows(inputs, self.weight.shape[0])
        out = forward(inputs, self.weight.astype(inputs.dtype))
        return out if self.bias is None else out + self.bias.astype(inputs.dtype)[None, :]


@final
class LinearLearner(LayeredLearner):
    """f(x; W) = Wx, written for tokens as rows. `kernel_init` draws W₀."""

    weight: Float[Array, "k k"]
    expansion: float = eqx.field(static=True)

    def __init__(self, width: int, *, kernel_init: jax.nn.initializers.Initializer = xavier_uniform, key: PRNGKeyArray):
        check_whole(width=width)
        self.weight = kernel_init(key, (width, width))
        self.expansion = 1.0

    def through(self, inputs: Float[Array, "n k"], apply: Apply) -> Float[Array, "n k"]:
        return apply(Linear(self.weight), inputs)


@final
class AffineLearner(LayeredLearner):
    """f(x; W, b) = Wx + b: the inner model of TTT-Linear (Sun et al., 2024)."""

    weight: Float[Array, "k k"]
    bias: Float[Array, " k"]
    expansion: float = eqx.field(static=True)

    def __init__(self, width: int, *, kernel_init: jax.nn.initializers.Initializer = xavier_uniform, key: PRNGKeyArray):
        check_whole(width=width)
        self.weight = kernel_init(key, (width, width))
        self.bias = jnp.zeros(width)
        self.expansion = 1.0

    def through(self, inputs: Float[Array, "n k"], apply: Apply) -> Float[Array, "n k"]:
        return apply(Linear(self.weight, self.bias), inputs)
