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
    """f(x; W) = GELU(xA + a)B + b, two affine maps: the inner model of MTTT-MLP and TTT-MLP. (n, k) ↦ (n, k).

    GELU has its tanh form. The hidden layer is `factor` times as wide as a head. A step costs O(n·factor·k²), which is
    more than the linear learner's, for a W that can know more of the input.

    Arguments:
    - width: k, the width of the head that learns
    - factor: how many times wider than k the hidden layer is; 4, as in the paper
    - kernel_init: draws A₀ (k, factor·k) and B₀ (factor·k, k); uniform after Xavier by default. a and b start at 0
    - key: random key for W₀

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> learner = mttt.MLPLearner(8, key=jax.random.key(0))
        >>> learner(jnp.ones((10, 8))).shape, learner.up.bias.shape
        ((10, 8), (32,))

    Reference: Sun et al. (2023), *Learning to (Learn at Test Time)*, arXiv 2310.13807.
    """

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
