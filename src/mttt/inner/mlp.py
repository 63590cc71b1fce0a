"""The neural-network learner."""

from typing import final

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.layered import Apply, LayeredLearner
from mttt.nn.check import check_rows, check_whole
from mttt.nn.dense import Dense, gelu, xavier_uniform
from mttt.nn.products import backward, forward


class Up(eqx.Module):
    """x ↦ xA + b, to more features."""

    weight: Float[Array, "k m"]
    bias: Float[Array, " m"]

    def __call__(self, tokens: Float[Array, "n k"]) -> Float[Array, "n m"]:
        check_rows(tokens, self.weight.shape[0])
        return forward(tokens, self.weight.astype(tokens.dtype)) + self.bias.astype(tokens.dtype)[None, :]


class Down(eqx.Module):
    """h ↦ hAᵀ + b, to fewer features. A is stored like that of `Up`, its narrow side first: see `nn/products.py`."""

    weight: Float[Array, "k m"]
    bias: Float[Array, " k"]

    def __call__(self, hidden: Float[Array, "n m"]) -> Float[Array, "n k"]:
        return backward(hidden, self.weight.astype(hidden.dtype)) + self.bias.astype(hidden.dtype)[None, :]


@final
class MLPLearner(LayeredLearner):
    """Two affine layers with GELU between them; the hidden layer is `factor` times as wide. `kernel_init` draws W₀."""

    up: Up
    down: Down
    expansion: float = eqx.field(static=True)

    def __init__(
        self,
        width: int,
        *,
        factor: int = 4,
        kernel_init: jax.nn.initializers.Initializer = xavier_uniform,
        key: PRNGKeyArray,
    ):
        check_whole(width=width, factor=factor)
        up_key, down_key = jax.random.split(key)
        up = Dense(width, factor * width, key=up_key, kernel_init=kernel_init)
        down = Dense(factor * width, width, key=down_key, kernel_init=kernel_init)
        self.up = Up(up.weight, up.bias)
        self.down = Down(down.weight.T, down.bias)
        self.expansion = float(factor)

    def through(self, inputs: Float[Array, "n k"], apply: Apply) -> Float[Array, "n k"]:
        return apply(self.down, gelu(apply(self.up, inputs)))
