"""Rows in another order."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def _inverse(order: Int[Array, " n"]) -> Int[Array, " n"]:
    places = jnp.arange(order.shape[0], dtype=order.dtype)
    return jnp.zeros_like(order).at[order].set(places, unique_indices=True)


@jax.custom_vjp
def permute(rows: Float[Array, "n *m"], order: Int[Array, " n"]) -> Float[Array, "n *m"]:
    """Bring rows into an order that names each of them once.

    Its rule says so to JAX, which would otherwise add up the cotangents of rows that could come twice: a slow scatter.
    """
    return rows[order]


permute.defvjp(
    lambda rows, order: (permute(rows, order), order),
    lambda order, cotangent: (permute(cotangent, _inverse(order)), None),
)
