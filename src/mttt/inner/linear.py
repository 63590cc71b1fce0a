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
    """f(x; W) = Wx, the linear learner: n tokens are rows, (n, k) ↦ (n, k).

    It costs O(n·k²) a step. MTTT-Linear is this learner from W₀ = 0, one step, without Decoder LN, and equals linear
    attention with identity map: `TTT(dim, heads, learner=LinearLearner, start=Zeros, task=partial(Reconstruction,
    decoder_norm=False), key=key)`.

    Arguments:
    - width: k, the width of the head that learns
    - kernel_init: draws W₀ (k, k); uniform after Xavier by default
    - key: random key for W₀

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> learner = mttt.LinearLearner(8, key=jax.random.key(0))
        >>> learner(jnp.ones((10, 8))).shape, learner.weight.shape
        ((10, 8), (8, 8))

    Reference: Sun et al. (2023), *Learning to (Learn at Test Time)*, arXiv 2310.13807.
    """

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
    """f(x; W, b) = Wx + b: the inner model of TTT-Linear.

    It costs O(n·k²) a step, as `LinearLearner` does. b starts at 0.

    Arguments:
    - width: k, the width of the head that learns
    - kernel_init: draws W₀ (k, k); uniform after Xavier by default
    - key: random key for W₀

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> learner = mttt.AffineLearner(8, key=jax.random.key(0))
        >>> learner(jnp.ones((10, 8))).shape, learner.bias.shape
        ((10, 8), (8,))

    Reference: Sun et al. (2024), *Learning to (Learn at Test Time): RNNs with Expressive Hidden States*, arXiv
    2407.04620.
    """

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
