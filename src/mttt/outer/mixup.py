"""Mixup (Zhang et al., 2018): training on blends of two images and of their labels."""

from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

T = TypeVar("T")


def rows_before(batch: T) -> T:
    """The partner of every row: the one before it, and for the first the last."""
    return jax.tree.map(lambda rows: jnp.roll(rows, 1, axis=0), batch)


def partner_shares(partners: Float[Array, " b"], *, alpha: float, key: PRNGKeyArray) -> Float[Array, " b"]:
    """1 − λ: how much of each row comes from its partner; `partners` are the partners' weights.

    As in the recipe of Beyer et al. (2022), one λ ~ Beta(α, α) serves the whole batch, and the larger of λ and 1 − λ is
    the row's own: its own label remains the likeliest. A row whose partner has weight 0, a filler, stays as it is.
    """
    if alpha <= 0:
        raise ValueError(f"mixup={alpha}: α of the Beta distribution is above 0")
    drawn = jax.random.beta(key, alpha, alpha, dtype=jnp.float32)
    return jnp.minimum(drawn, 1 - drawn) * (partners > 0).astype(jnp.float32)


def blend(rows: Float[Array, "b *rest"], partners: Float[Array, "b *rest"], shares: Float[Array, " b"]) -> Array:
    """λ·(each row) + (1 − λ)·(its partner)."""
    part = shares.reshape(-1, *[1] * (rows.ndim - 1)).astype(rows.dtype)
    return (1 - part) * rows + part * partners
