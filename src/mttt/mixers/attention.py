"""Softmax attention."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.base import Mixed, Mixer
from mttt.mixers.heads import Merge, Views, attention_parts, over_heads
from mttt.nn.check import check_key


def attend(
    query: Float[Array, "n k"],
    keys: Float[Array, "m k"],
    values: Float[Array, "m k"],
    mask: Bool[Array, " m"] | Bool[Array, "n m"] | None = None,
) -> Float[Array, "n k"]:
    """softmax(QKᵀ / √k)V of one head. There is no attention to where the mask is False. The softmax is float32."""
    # dot_product_attention wants (tokens, heads, width); this is one head.
    if mask is not None:
        mask = jnp.broadcast_to(mask if mask.ndim == 2 else mask[None, :], (query.shape[0], keys.shape[0]))[None]
    query, keys, values = (view[:, None, :] for view in (query, keys, values))
    with jax.numpy_dtype_promotion("standard"):  # it promotes implicitly; our callers may forbid that
        mixed = jax.nn.dot_product_attention(query, keys, values, mask=mask)
    return mixed[:, 0, :]


class SelfAttention(Mixer):
    """Self-attention, the layer that the others replace: softmax(QKᵀ / √k)V for each head.

    Its time and memory grow with n². With a mask there is no attention to padding.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - key: random key for all parameters

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> layer = mttt.SelfAttention(16, 2, key=jax.random.key(0))
        >>> layer(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Vaswani et al. (2017), *Attention Is All You Need*, arXiv 1706.03762.
    """

    views: Views
    merge: Merge

    def __init__(self, dim: int, heads: int, *, key: PRNGKeyArray):
        check_key(key)
        self.views, self.merge = attention_parts(dim, heads, key=key)

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        return Mixed(self.merge(over_heads(lambda views: attend(*views(tokens), mask=mask), self.views)))
