"""Attention in a sliding window."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.attention import attend
from mttt.mixers.base import Mixed, Mixer
from mttt.mixers.heads import Merge, Views, attention_parts, over_heads
from mttt.nn.check import check_key, check_whole


class Longformer(Mixer):
    """Longformer: softmax attention in a sliding window, token i to j where |i − j| ≤ window/2.

    The first `global_tokens` tokens attend to all tokens and all tokens attend to them. Their own attention has its own
    projections, which start as copies of the others. Time and memory grow with n · window. Where the window covers all
    n tokens this is self-attention. The window and the global tokens are places in the input, padding included: pad at
    the end.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - window: an even number, 512 by default: half of it lies to each side of a token
    - global_tokens: how many tokens are global; 0 by default
    - key: random key for all parameters

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.Longformer(16, 2, window=4, global_tokens=1, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Beltagy et al. (2020), *Longformer: The Long-Document Transformer*, arXiv 2004.05150.
    """

    views: Views
    global_views: Views | None
    merge: Merge
    window: int = eqx.field(static=True)
    global_tokens: int = eqx.field(static=True)

    def __init__(self, dim: int, heads: int, *, window: int = 512, global_tokens: int = 0, key: PRNGKeyArray):
        check_whole(window=window)
        check_whole(least=0, global_tokens=global_tokens)
        if window % 2:
            raise ValueError(f"window={window}: half of it lies to each side of a token; take an even number above 0")
        check_key(key)
        self.views, self.merge = attention_parts(dim, heads, key=key)
        self.global_views = jax.tree.map(jnp.copy, self.views) if global_tokens else None
        self.window, self.global_tokens = window, global_tokens

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        few = self.global_tokens
        if few > tokens.shape[0]:
            raise ValueError(f"global_tokens={few}: there are only n={tokens.shape[0]} tokens")

        def head(parts: tuple[Views, Views | None]):
            views, global_views = parts
            out = slide(*views(tokens), mask=mask, half=self.window // 2, few=few)
            if global_views is None:
                return out
            query, keys, values = global_views.query(tokens[:few]), global_views.key(tokens), global_views.value(tokens)
            to_all = attend(query, keys, values, mask)
            return jnp.concatenate([to_all, out[few:]])

        return Mixed(self.merge(over_heads(head, (self.views, self.global_views))))


def slide(
    query: Float[Array, "n k"],
    keys: Float[Array, "n k"],
    values: Float[Array, "n k"],
    mask: Bool[Array, " n"] | None = None,
    *,
    half: int,
    few: int = 0,
) -> Float[Array, "n k"]:
    """Each token attends to `half` tokens before it, itself, `half` after it, and the first `few` of all."""
    n = query.shape[0]
    if n <= 3 * half:  # a block would have more keys than there are tokens
        if n <= half + 1:
            return attend(query, keys, values, mask)
        i, j = jnp.arange(n)[:, None], jnp.arange(n)[None, :]
        near = (abs(i - j) <= half) | (j < few)
        return attend(query, keys, values, near if mask is None else near & mask[None, :])
    count = -(-n // half)  # blocks of `half` queries, which look at their own block of keys and at the two beside it
    ends = count * half - n

    def own(rows: Float[Array, "n k"]) -> Float[Array, "count half k"]:
        return jnp.pad(rows, ((0, ends), (0, 0))).reshape(count, half, -1)

    def beside(rows: Float[Array, "n k"]) -> Float[Array, "count m k"]:
        padded = jnp.pad(own(rows), ((1, 1), (0, 0), (0, 0)))
        first = jnp.broadcast_to(rows[None, :few], (count, few, rows.shape[1]))
        return jnp.concatenate([first, padded[:-2], padded[1:-1], padded[2:]], axis=1)

    real = jnp.ones(n, bool) if mask is None else mask

    def attend_block(block, query, keys, values):
        i = block * half + jnp.arange(half)[:, None]
        j = (block - 1) * half + jnp.arange(3 * half)[None, :]
        near = (abs(i - j) <= half) & (j >= few) & (j < n)  # few: the first tokens must not count twice
        if mask is not None:
            near &= mask[jnp.clip(j, 0, n - 1)]
        first = jnp.broadcast_to(real[None, :few], (half, few))
        return attend(query, keys, values, jnp.concatenate([first, near], axis=1))

    out = jax.vmap(attend_block)(jnp.arange(count), own(query), beside(keys), beside(values))
    return out.reshape(count * half, -1)[:n]
