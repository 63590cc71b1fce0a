"""Rows that are only padding."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def keep_real(rows: Float[Array, "n *rest"], mask: Bool[Array, " n"] | None) -> Float[Array, "n *rest"]:
    """The rows, with zeros in those that the mask says are padding."""
    return rows if mask is None else jnp.where(mask.reshape(-1, *[1] * (rows.ndim - 1)), rows, 0)
