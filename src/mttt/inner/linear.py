"""The linear learner: one step from W₀ = 0 is linear attention."""

from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.learner import Blockwise, Zeros
from mttt.nn.dense import xavier_uniform
from mttt.nn.products import forward


class LinearLearner(Blockwise):
    """f(x; W) = Wx, written for tokens as rows."""

    weight: Float[Array, "k k"]

    def __init__(self, width: int, *, key: PRNGKeyArray):
        self.weight = xavier_uniform(key, (width, width))

    @property
    def expansion(self) -> float:
        return 1.0

    def __call__(self, inputs: Float[Array, "n k"]) -> Float[Array, "n k"]:
        return forward(inputs, self.weight.astype(inputs.dtype))


def zero_linear(width: int, *, key: PRNGKeyArray) -> Zeros:
    """The linear learner with W₀ = 0: the learner of MTTT-Linear."""
    return Zeros(LinearLearner(width, key=key))
