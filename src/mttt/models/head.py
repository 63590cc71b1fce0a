"""From the features of an image to the logits of its classes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.nn import Dense
from mttt.nn.dense import lecun_normal


class TanhHead(eqx.Module):
    """The paper's: dense + tanh ("pre-logits"), then an affine map that starts at zero.

    Nothing below a map of zeros has a gradient, so the first hundreds of steps teach the map more than the model: a
    training of a hundred thousand steps does not notice, one of a thousand does (results/presets.md).
    """

    pre_logits: Dense
    logits: Dense

    def __init__(self, dim: int, classes: int, *, key: PRNGKeyArray):
        self.pre_logits = Dense(dim, dim, key=key)
        self.logits = Dense(dim, classes, key=key, kernel_init=jax.nn.initializers.zeros)

    def __call__(self, features: Float[Array, "1 d"]) -> Float[Array, "1 classes"]:
        return self.logits(jnp.tanh(self.pre_logits(features)))


class LinearHead(eqx.Module):
    """An affine map alone, drawn at random: for short trainings."""

    logits: Dense

    def __init__(self, dim: int, classes: int, *, key: PRNGKeyArray):
        self.logits = Dense(dim, classes, key=key, kernel_init=lecun_normal)

    def __call__(self, features: Float[Array, "1 d"]) -> Float[Array, "1 classes"]:
        return self.logits(features)
