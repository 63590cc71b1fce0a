"""From the features of an image to the logits of its classes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.nn import Dense
from mttt.nn.dense import lecun_normal


class TanhHead(eqx.Module):
    """The paper's head: dense + tanh ("pre-logits"), then an affine map that starts at zero.

    Called with the features of an input (1, d), it returns logits (1, classes). Nothing below a map of zeros has a
    gradient, so the first hundreds of steps teach the map more than the model: a training of a hundred thousand steps
    does not notice, one of a thousand does (results/presets.md).

    Arguments:
    - dim: d, the width of the features
    - classes: how many there are
    - key: random key for the first map

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> head = mttt.TanhHead(16, 3, key=jax.random.key(0))
        >>> head(jnp.ones((1, 16))).tolist()
        [[0.0, 0.0, 0.0]]
    """

    pre_logits: Dense
    logits: Dense

    def __init__(self, dim: int, classes: int, *, key: PRNGKeyArray):
        self.pre_logits = Dense(dim, dim, key=key)
        self.logits = Dense(dim, classes, key=key, kernel_init=jax.nn.initializers.zeros)

    def __call__(self, features: Float[Array, "1 d"]) -> Float[Array, "1 classes"]:
        """Logits (1, classes) of features (1, d)."""
        return self.logits(jnp.tanh(self.pre_logits(features)))


class LinearHead(eqx.Module):
    """An affine map alone, drawn at random: for short trainings.

    Called with the features of an input (1, d), it returns logits (1, classes).

    Arguments:
    - dim: d, the width of the features
    - classes: how many there are
    - key: random key for the map

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> head = mttt.LinearHead(16, 3, key=jax.random.key(0))
        >>> head(jnp.ones((1, 16))).shape
        (1, 3)
    """

    logits: Dense

    def __init__(self, dim: int, classes: int, *, key: PRNGKeyArray):
        self.logits = Dense(dim, classes, key=key, kernel_init=lecun_normal)

    def __call__(self, features: Float[Array, "1 d"]) -> Float[Array, "1 classes"]:
        """Logits (1, classes) of features (1, d)."""
        return self.logits(features)
