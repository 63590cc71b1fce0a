"""Attention with a Gaussian kernel instead of softmax."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.base import Mixed, Mixer
from mttt.mixers.heads import Merge, over_heads, split_dense, split_merge
from mttt.nn.check import check_key, check_whole
from mttt.nn.dense import Dense, at_least_float32


class SOFT(Mixer):
    """SOFT: κ(Q, Q)V with κ(x, y) = exp(−‖x − y‖² / 2√k), without a normaliser, approximated through landmarks.

        κ(Q, L) κ(L, L)† κ(L, Q) V, where L are the means of m segments of the queries (Nyström)

    Keys are the queries, so κ is symmetric. Its time is O(n·m·k), and O(m³) for each iteration. (That paper's code also
    has a strided convolution for L, and takes the squares of a grid; here tokens are a list.) With as many landmarks as
    tokens the kernel is exact, and more are never taken. With a mask, the segments are those of the real tokens.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - landmarks: m, 49 by default
    - iterations: of Newton and Raphson for the pseudo-inverse †; 20 by default. Few iterations regularise
    - key: random key for all parameters

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.SOFT(16, 2, landmarks=4, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Lu et al. (2021), *SOFT: Softmax-free Transformer with Linear Complexity*, arXiv 2110.11945.
    """

    query: Dense
    value: Dense
    merge: Merge
    landmarks: int = eqx.field(static=True)
    iterations: int = eqx.field(static=True)

    def __init__(self, dim: int, heads: int, *, landmarks: int = 49, iterations: int = 20, key: PRNGKeyArray):
        check_whole(landmarks=landmarks, iterations=iterations)
        check_key(key)
        query_key, value_key, merge_key = jax.random.split(key, 3)
        self.query = split_dense(dim, heads, key=query_key)
        self.value = split_dense(dim, heads, key=value_key)
        self.merge = split_merge(dim, heads, key=merge_key)
        self.landmarks, self.iterations = landmarks, iterations

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        def head(parts: tuple[Dense, Dense]):
            query, values = (at_least_float32(view(tokens)) for view in parts)
            query = query * query.shape[1] ** -0.25
            count = min(self.landmarks, query.shape[0])
            if mask is None:
                landmarks = segment_means(query, count)
                near, among = gaussian(query, landmarks), gaussian(landmarks, landmarks)
            else:
                landmarks, there = real_segment_means(query, mask, count)
                near = jnp.where(mask[:, None] & there[None, :], gaussian(query, landmarks), 0)
                among = jnp.where(there[:, None] & there[None, :], gaussian(landmarks, landmarks), 0)
            inverse = pseudo_inverse(among, self.iterations)
            return (near @ (inverse @ (near.T @ values))).astype(tokens.dtype)

        return Mixed(self.merge(over_heads(head, (self.query, self.value))))


def segment_means(rows: Float[Array, "n k"], count: int) -> Float[Array, "m k"]:
    """The means of `count` segments of the rows. Where it does not divide n, the first ones have a row more."""
    size, longer = divmod(rows.shape[0], count)
    cut = longer * (size + 1)
    short = jnp.mean(rows[cut:].reshape(count - longer, size, -1), axis=1)
    return jnp.concatenate([jnp.mean(rows[:cut].reshape(longer, size + 1, -1), axis=1), short]) if longer else short


def real_segment_means(
    rows: Float[Array, "n k"], mask: Bool[Array, " n"], count: int
) -> tuple[Float[Array, "m k"], Bool[Array, " m"]]:
    """The segment means of the real rows, and which segments there are: with few real rows, fewer than `count`."""
    real = jnp.sum(mask)
    segments = jnp.clip(real, 1, count)
    size, longer = jnp.divmod(jnp.maximum(real, 1), segments)
    rank, cut = jnp.cumsum(mask) - 1, longer * (size + 1)
    segment = jnp.where(rank < cut, rank // (size + 1), longer + (rank - cut) // size)
    member = (mask[None, :] & (segment[None, :] == jnp.arange(count)[:, None])).astype(rows.dtype)
    sizes = jnp.sum(member, axis=1)
    return member @ rows / jnp.maximum(sizes, 1)[:, None], sizes > 0


def gaussian(x: Float[Array, "n k"], y: Float[Array, "m k"]) -> Float[Array, "n m"]:
    """exp(−½‖x − y‖²)."""
    half_norms = 0.5 * jnp.sum(x**2, axis=1)[:, None] + 0.5 * jnp.sum(y**2, axis=1)[None, :]
    return jnp.exp(jnp.minimum(x @ y.T - half_norms, 0))  # rounding could make a distance negative


def pseudo_inverse(matrix: Float[Array, "m m"], iterations: int) -> Float[Array, "m m"]:
    """The pseudo-inverse of a symmetric matrix P by Newton and Raphson: A ← 2A − APA, from a small multiple of P.

    Few iterations regularise: directions in which P is smaller than 2^(−iterations/2) ‖P‖₁ or so are left out.
    """
    # That paper starts from 2P/‖P‖₁², which is twice too much where all landmarks are the same: A would become 0.
    start = matrix / jnp.maximum(jnp.max(jnp.sum(jnp.abs(matrix), axis=1)), 1) ** 2  # a real landmark has 1 by itself
    inverse, _ = jax.lax.scan(lambda a, _: (2 * a - a @ matrix @ a, None), start, None, length=iterations)
    return inverse
