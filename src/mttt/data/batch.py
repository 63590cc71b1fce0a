"""The contract between data and the outer loop."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped, UInt8

ArrayLike = np.ndarray | Array


class Batch(NamedTuple):
    """Images as they are stored, labels, and weights: 1, or 0 for a row that only fills the last batch up."""

    images: UInt8[ArrayLike, "b h w c"]
    labels: Int[ArrayLike, " b"]
    weights: Float[ArrayLike, " b"]


def to_float(images: Shaped[ArrayLike, "*b h w c"], dtype: jnp.dtype | type = jnp.float32) -> Array:
    """Pixel values 0…255 to [−1, 1], on the device."""
    return (jnp.asarray(images).astype(jnp.float32) / 127.5 - 1).astype(dtype)
