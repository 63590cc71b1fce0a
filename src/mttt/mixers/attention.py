"""Softmax attention."""

import jax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.base import Mixed, Mixer
from mttt.mixers.heads import Merge, Views, attention_parts, over_heads


def attend(
    query: Float[Array, "n k"],
    keys: Float[Array, "m k"],
    values: Float[Array, "m k"],
    mask: Bool[Array, "n m"] | None = None,
) -> Float[Array, "n k"]:
    """softmax(QKᵀ / √k)V of one head. Where the mask is False, there is no attention. The softmax is float32."""
    # dot_product_attention wants (tokens, heads, width); this is one head.
    query, keys, values = (view[:, None, :] for view in (query, keys, values))
    with jax.numpy_dtype_promotion("standard"):  # it promotes implicitly; our callers may forbid that
        mixed = jax.nn.dot_product_attention(query, keys, values, mask=None if mask is None else mask[None, :, :])
    return mixed[:, 0, :]


class SelfAttention(Mixer):
    """Self-attention (Vaswani et al., 2017). Its time and memory grow with n²."""

    views: Views
    merge: Merge

    def __init__(self, dim: int, heads: int, *, key: PRNGKeyArray):
        self.views, self.merge = attention_parts(dim, heads, key=key)

    def __call__(self, tokens: Float[Array, "n d"], *, key: PRNGKeyArray | None = None, trace: bool = False) -> Mixed:
        return Mixed(self.merge(over_heads(lambda views: attend(*views(tokens)), self.views)))
