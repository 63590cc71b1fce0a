"""Linear attention: no softmax, so keys and values can be summed up before a query comes."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.mixers.base import Mixed, Mixer
from mttt.mixers.heads import Merge, Views, attention_parts, head_width, over_heads
from mttt.nn.dense import wide


class LinearAttention(Mixer):
    """Linear attention with identity map: Q(KᵀV) / (n · features).

    `features` is d/H by default, as in the paper's release, and 1 in its formula (appendix A). It is what one inner
    step of the linear learner from W₀ = 0 computes.
    """

    views: Views
    merge: Merge
    features: float

    def __init__(self, dim: int, heads: int, *, features: float | None = None, key: PRNGKeyArray):
        self.views, self.merge = attention_parts(dim, heads, key=key)
        self.features = float(head_width(dim, heads)) if features is None else float(features)

    def __call__(self, tokens: Float[Array, "n d"], *, key: PRNGKeyArray | None = None, trace: bool = False) -> Mixed:
        scale = 1 / (tokens.shape[0] * self.features)

        def head(views: Views):
            query, keys, values = map(wide, views(tokens))
            return (query @ (scale * (keys.T @ values))).astype(tokens.dtype)

        return Mixed(self.merge(over_heads(head, self.views)))


class EluLinearAttention(Mixer):
    """Linear attention of Katharopoulos et al. (2020): features elu + 1, and a normaliser that depends on the data."""

    views: Views
    merge: Merge

    def __init__(self, dim: int, heads: int, *, key: PRNGKeyArray):
        self.views, self.merge = attention_parts(dim, heads, key=key)

    def __call__(self, tokens: Float[Array, "n d"], *, key: PRNGKeyArray | None = None, trace: bool = False) -> Mixed:
        def head(views: Views):
            query, keys, values = map(wide, views(tokens))
            query, keys = jax.nn.elu(query) + 1, jax.nn.elu(keys) + 1
            normaliser = query @ jnp.sum(keys, axis=0)
            return ((query @ (keys.T @ values)) / normaliser[:, None]).astype(tokens.dtype)

        return Mixed(self.merge(over_heads(head, self.views)))
