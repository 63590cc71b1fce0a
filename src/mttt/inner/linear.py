"""The linear learner: one step from W₀ = 0 is linear attention."""

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.learner import Zeros
from mttt.nn.dense import xavier_uniform


class LinearLearner(eqx.Module):
    """f(x; W) = Wx, written for tokens as rows."""

    weight: Float[Array, "k k"]

    def __init__(self, width: int, *, key: PRNGKeyArray):
        self.weight = xavier_uniform(key, (width, width))

    def __call__(self, inputs: Float[Array, "n k"]) -> Float[Array, "n k"]:
        return inputs @ self.weight


def zero_linear(width: int, *, key: PRNGKeyArray) -> Zeros:
    """The linear learner with W₀ = 0: the learner of MTTT-Linear."""
    return Zeros(LinearLearner(width, key=key))
