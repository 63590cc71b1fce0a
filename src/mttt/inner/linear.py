"""The linear learner: one step from W₀ = 0 is linear attention."""

from typing import final

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.learner import TokenwiseLearner
from mttt.nn.check import check_rows, check_whole
from mttt.nn.dense import xavier_uniform
from mttt.nn.products import forward


@final
class LinearLearner(TokenwiseLearner):
    """f(x; W) = Wx, written for tokens as rows."""

    weight: Float[Array, "k k"]
    expansion: float = eqx.field(static=True)

    def __init__(self, width: int, *, key: PRNGKeyArray):
        check_whole(width=width)
        self.weight = xavier_uniform(key, (width, width))
        self.expansion = 1.0

    def __call__(self, inputs: Float[Array, "n k"], *, key: PRNGKeyArray | None = None) -> Float[Array, "n k"]:
        check_rows(inputs, self.weight.shape[0])
        return forward(inputs, self.weight.astype(inputs.dtype))
