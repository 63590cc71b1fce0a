"""Places told by rotation."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from mttt.nn.check import check_finite, check_instance
from mttt.nn.dense import at_least_float32

FAR = 4096


class Rotary(eqx.Module):
    """Rotary positions: pair i of k features is rotated by the angle place · base^(−2i/k).

    Queries and keys that are rotated so have products that depend on how far apart they are, not on where they are.
    Features i and i + k/2 are a pair, so k is even. Called as `rotary(rows, places)`, with rows (n, k) and whole
    numbers (n,).

    Arguments:
    - base: 10,000 by default; the larger, the longer the slowest pair takes for a turn

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> rotary, rows = mttt.Rotary(), jnp.ones((1, 8))
        >>> at = lambda place: rotary(rows, jnp.array([place]))
        >>> near, far = jnp.sum(at(2) * at(5)), jnp.sum(at(102) * at(105))
        >>> bool(jnp.allclose(near, far, atol=1e-3))
        True

    Reference: Su et al. (2021), *RoFormer*, arXiv 2104.09864.
    """

    base: float = eqx.field(static=True)

    def __init__(self, base: float = 10_000.0):
        check_finite(above=0.0, base=base)
        self.base = float(base)

    def __call__(self, rows: Float[Array, "n k"], places: Int[Array, " n"]) -> Float[Array, "n k"]:
        """Rotate each row (n, k) by its place (n,)."""
        x = at_least_float32(rows)
        first, second = jnp.split(x, 2, axis=1)
        slopes = self.base ** -(np.arange(first.shape[1]) / first.shape[1])
        # In float32, the angle of a place of millions would have no digits left: whole turns are taken out before.
        turns = np.remainder(FAR * slopes, 2 * math.pi)
        far, near = ((part.astype(x.dtype))[:, None] for part in jnp.divmod(places, FAR))
        angles = far * jnp.asarray(turns, x.dtype)[None, :] + near * jnp.asarray(slopes, x.dtype)[None, :]
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        return jnp.concatenate([first * cos - second * sin, first * sin + second * cos], axis=1).astype(rows.dtype)


def check_positions(positions: Rotary | None, width: int) -> None:
    """There are no positions, or heads of this width can be rotated."""
    if positions is None:
        return
    check_instance("positions", positions, Rotary, "Rotary(), or None for no positions")
    if width % 2:
        raise ValueError(
            f"heads of width {width}: Rotary rotates pairs of features; take another number of heads, or positions=None"
        )


def rotate(positions: Rotary | None, rows: Float[Array, "n k"], places: Int[Array, " n"]) -> Float[Array, "n k"]:
    """The rows, with their places if there are positions."""
    return rows if positions is None else positions(rows, places)
