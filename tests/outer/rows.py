"""What the outer loop asks of a batch, and of what reads it."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from mttt.outer import Classification


class Rows(NamedTuple):
    inputs: Any
    labels: Any
    weights: Any


def read(inputs):
    """Bytes to [−1, 1]."""
    return jnp.asarray(inputs).astype(jnp.float32) / 127.5 - 1


CLASSIFICATION = Classification(read)


def noise(size=12, side=8, classes=10, weights=None):
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, 256, (size, side, side, 1)).astype(np.uint8)
    labels = rng.integers(0, classes, size).astype(np.int32)
    return Rows(inputs, labels, np.ones(size, np.float32) if weights is None else np.array(weights, np.float32))
