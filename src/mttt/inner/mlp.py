"""The neural-network learner."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.nn.dense import Dense, gelu


class MLPLearner(eqx.Module):
    """Two affine layers with GELU between them; the hidden layer is `factor` times as wide."""

    up: Dense
    down: Dense

    def __init__(self, width: int, *, factor: int = 4, key: PRNGKeyArray):
        up_key, down_key = jax.random.split(key)
        self.up = Dense(width, factor * width, key=up_key)
        self.down = Dense(factor * width, width, key=down_key)

    def __call__(self, inputs: Float[Array, "n k"]) -> Float[Array, "n k"]:
        return self.down(gelu(self.up(inputs)))
