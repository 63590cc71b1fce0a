"""Linear attention: no softmax, so keys and values can be summed up before a query comes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.base import Mixed, Mixer, real_count
from mttt.mixers.heads import Merge, Views, attention_parts, head_width, over_heads
from mttt.nn.check import check_finite, check_key
from mttt.nn.dense import at_least_float32
from mttt.nn.mask import keep_real


class LinearAttention(Mixer):
    """Linear attention with identity map: Q(KᵀV) / (n · divisor) for each head.

    It is what one inner step of the linear learner from W₀ = 0 computes (MTTT-Linear). Its time grows with n. With a
    mask the mean is over the real tokens.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - divisor: k by default, as in the paper's release; 1 is its formula (appendix A)
    - key: random key for all parameters

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> layer = mttt.LinearAttention(16, 2, key=jax.random.key(0))
        >>> layer(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Sun et al. (2023), *Learning to (Learn at Test Time)*, arXiv 2310.13807; Katharopoulos et al. (2020),
    arXiv 2006.16236.
    """

    views: Views
    merge: Merge
    divisor: float = eqx.field(static=True)

    def __init__(self, dim: int, heads: int, *, divisor: float | None = None, key: PRNGKeyArray):
        check_key(key)
        self.views, self.merge = attention_parts(dim, heads, key=key)
        divisor = head_width(dim, heads) if divisor is None else divisor
        check_finite(above=0.0, divisor=divisor)
        self.divisor = float(divisor)

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        scale = 1 / (real_count(tokens, mask) * self.divisor)

        def head(views: Views):
            query, keys, values = map(at_least_float32, views(tokens))
            return (query @ (scale * (keep_real(keys, mask).T @ values))).astype(tokens.dtype)

        return Mixed(self.merge(over_heads(head, self.views)))


class EluLinearAttention(Mixer):
    """Linear attention with the features φ = elu + 1: weights are positive, and add up to 1 for each query.

        o_i = φ(q_i) Σ_j φ(k_j)ᵀ v_j / φ(q_i)·Σ_j φ(k_j)

    Its time grows with n. With a mask the sums are over the real tokens.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - key: random key for all parameters

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> layer = mttt.EluLinearAttention(16, 2, key=jax.random.key(0))
        >>> layer(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Katharopoulos et al. (2020), *Transformers are RNNs*, arXiv 2006.16236.
    """

    views: Views
    merge: Merge

    def __init__(self, dim: int, heads: int, *, key: PRNGKeyArray):
        check_key(key)
        self.views, self.merge = attention_parts(dim, heads, key=key)

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        def head(views: Views):
            query, keys, values = map(at_least_float32, views(tokens))
            query, keys = jax.nn.elu(query) + 1, keep_real(jax.nn.elu(keys) + 1, mask)
            normaliser = query @ jnp.sum(keys, axis=0)
            if mask is not None:
                normaliser = jnp.where(jnp.any(mask), normaliser, 1)
            return ((query @ (keys.T @ values)) / normaliser[:, None]).astype(tokens.dtype)

        return Mixed(self.merge(over_heads(head, self.views)))
