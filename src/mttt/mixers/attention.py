"""Softmax attention."""

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.mixers.base import Mixed, Mixer
from mttt.mixers.heads import Merge, Views, attention_parts, over_heads


class SelfAttention(Mixer):
    """Self-attention (Vaswani et al., 2017). Its time and memory grow with n²."""

    views: Views
    merge: Merge

    def __init__(self, dim: int, heads: int, *, key: PRNGKeyArray):
        self.views, self.merge = attention_parts(dim, heads, key=key)

    def __call__(self, tokens: Float[Array, "n d"], *, key: PRNGKeyArray | None = None, trace: bool = False) -> Mixed:
        def head(views: Views):
            # dot_product_attention wants (tokens, heads, width); this is one head.
            query, keys, values = (view[:, None, :] for view in views(tokens))
            with jax.numpy_dtype_promotion("standard"):  # it promotes implicitly; our callers may forbid that
                return jax.nn.dot_product_attention(query, keys, values)[:, 0, :]

        return Mixed(self.merge(over_heads(head, self.views)))
