"""Mixup (Zhang et al., 2018): training on blends of two images and of their labels."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


def mixup(
    images: Float[Array, "b h w c"],
    labels: Float[Array, "b classes"],
    weights: Float[Array, " b"],
    *,
    alpha: float,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "b h w c"], Float[Array, "b classes"]]:
    """λ·(each row) + (1 − λ)·(the row before it), images and labels alike.

    As in the recipe of Beyer et al. (2022), one λ ~ Beta(α, α) serves the whole batch, and the larger of λ and 1 − λ is
    the row's own: its own label remains the likeliest. A row whose partner has weight 0, a filler, stays as it is, and
    so does everything if α = 0.
    """
    if alpha < 0:
        raise ValueError(f"mixup={alpha}: α of the Beta distribution is 0 (no mixup) or more")
    if alpha == 0:
        return images, labels
    drawn = jax.random.beta(key, alpha, alpha, dtype=jnp.float32)
    partners = (jnp.roll(weights, 1) > 0).astype(jnp.float32)
    other = jnp.minimum(drawn, 1 - drawn) * partners  # 1 − λ, per row

    def mix(rows: Array) -> Array:
        part = other.reshape(-1, *[1] * (rows.ndim - 1)).astype(rows.dtype)
        return (1 - part) * rows + part * jnp.roll(rows, 1, axis=0)

    return mix(images), mix(labels)
