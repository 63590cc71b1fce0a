"""Attention to a fixed number of mixtures of the tokens."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.attention import attend
from mttt.mixers.base import Mixed, Mixer
from mttt.mixers.heads import Merge, Views, attention_parts, over_heads
from mttt.nn.check import check_key, check_rows, check_whole
from mttt.nn.dense import Dense, project, xavier_uniform


class AlongTokens(eqx.Module):
    """X ↦ EX: r mixtures of n tokens."""

    weight: Float[Array, "r n"]

    def __init__(self, tokens: int, rank: int, *, key: PRNGKeyArray):
        self.weight = xavier_uniform(key, (rank, tokens))

    def __call__(self, tokens: Float[Array, "n d"]) -> Float[Array, "r d"]:
        return self.weight.astype(tokens.dtype) @ tokens

    def view(self, mixtures: Float[Array, "r d"], view: Dense, mask: Bool[Array, " n"] | None) -> Float[Array, "r k"]:
        """E(XA + 1bᵀ) = (EX)A + (E1)bᵀ: on the right, A meets r rows instead of n. 1 is 0 where there is no token."""
        weight = self.weight if mask is None else jnp.where(mask[None, :], self.weight, 0)
        sums = jnp.sum(weight, axis=1).astype(mixtures.dtype)
        return project(mixtures, view.weight) + sums[:, None] * view.bias.astype(mixtures.dtype)[None, :]


class Linformer(Mixer):
    """Linformer: attention to r learned mixtures of the tokens, softmax(Q(EK)ᵀ / √k)(FV), where E and F are r × n.

    Its time and memory grow with n · r. All heads share E and F (the paper's "headwise sharing"), and each has its own
    keys and values. E and F are trained for one number of tokens, and no other can be mixed: a shorter input is padded
    to it, and the columns of E and F that belong to padding drop out.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - tokens: n, the number of tokens of every input
    - rank: r, 256 by default; n where it is larger, as more mixtures than tokens would say nothing new
    - key: random key for all parameters

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> layer = mttt.Linformer(16, 2, tokens=10, rank=4, key=jax.random.key(0))
        >>> layer(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Wang et al. (2020), *Linformer: Self-Attention with Linear Complexity*, arXiv 2006.04768.
    """

    views: Views
    merge: Merge
    keys: AlongTokens  # E
    values: AlongTokens  # F

    def __init__(self, dim: int, heads: int, *, tokens: int, rank: int = 256, key: PRNGKeyArray):
        check_whole(tokens=tokens, rank=rank)
        check_key(key)
        parts_key, keys_key, values_key = jax.random.split(key, 3)
        self.views, self.merge = attention_parts(dim, heads, key=parts_key)
        self.keys = AlongTokens(tokens, min(rank, tokens), key=keys_key)
        self.values = AlongTokens(tokens, min(rank, tokens), key=values_key)

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        check_rows(tokens, self.merge.bias.shape[0])
        built = self.keys.weight.shape[1]
        if tokens.shape[0] != built:
            raise ValueError(
                f"n={tokens.shape[0]} tokens; this Linformer was built for tokens={built} (pad shorter inputs)"
            )
        for_keys, for_values = self.keys(tokens), self.values(tokens)

        def head(views: Views):
            keys, values = self.keys.view(for_keys, views.key, mask), self.values.view(for_values, views.value, mask)
            return attend(views.query(tokens), keys, values)

        return Mixed(self.merge(over_heads(head, self.views)))
