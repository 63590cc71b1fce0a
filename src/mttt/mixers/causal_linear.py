"""Linear attention to what came before: a sum of keys and values that grows with each token."""

from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mttt.mixers.base import Mixed
from mttt.mixers.causal import CausalMixer, float_dtype, over_real
from mttt.mixers.heads import Merge, Views, attention_parts, head_width, over_heads
from mttt.nn.check import check_finite, check_key, check_whole
from mttt.nn.dense import at_least_float32

CHUNK = 64  # tokens; about as many as a head is wide: sums and products inside of a chunk then cost the same


class Sums(NamedTuple):
    """Σ kᵀv of each head, and the number of tokens."""

    products: Float[Array, "heads k k"]
    seen: Int[Array, ""]


@final
class CausalLinearAttention(CausalMixer):
    """Linear attention with identity map, to what came before: o_t = q_t Σ_{s≤t} k_sᵀv_s / (t · divisor) for each head.

    The running mean over t tokens is to a sequence what the mean over n is to a set: the last token comes out as
    `LinearAttention` has it, and the scale does not grow with the length. Its time grows with n; its state is Σ kᵀv and
    t.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - chunk: how many tokens are multiplied at a time, 64 by default; it changes the time it takes, and no number but
      for rounding
    - divisor: k by default, as in `LinearAttention`
    - key: random key for all parameters

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> layer = mttt.CausalLinearAttention(16, 2, key=jax.random.key(0))
        >>> mixed, state = layer.go_on(layer.start(), jnp.ones((10, 16)))
        >>> mixed.shape, state.products.shape, int(state.seen)
        ((10, 16), (2, 8, 8), 10)

    Reference: Katharopoulos et al. (2020), *Transformers are RNNs*, arXiv 2006.16236.
    """

    views: Views
    merge: Merge
    divisor: float = eqx.field(static=True)
    chunk: int = eqx.field(static=True)

    def __init__(self, dim: int, heads: int, *, chunk: int = CHUNK, divisor: float | None = None, key: PRNGKeyArray):
        check_key(key)
        check_whole(chunk=chunk)
        self.views, self.merge = attention_parts(dim, heads, key=key)
        divisor = head_width(dim, heads) if divisor is None else divisor
        check_finite(above=0.0, divisor=divisor)
        self.divisor, self.chunk = float(divisor), chunk

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        return Mixed(over_real(lambda tokens: self.advance(self.start(tokens.dtype), tokens)[0], tokens, mask))

    def start(self, dtype: Any = None) -> Sums:
        heads, width, _ = self.merge.weight.shape
        return Sums(jnp.zeros((heads, width, width), _sum_dtype(dtype)), jnp.zeros((), jnp.int32))

    def advance(self, state: Sums, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Sums]:
        new = tokens.shape[0]
        t = (state.seen + jnp.arange(1, new + 1, dtype=jnp.int32)).astype(state.products.dtype)

        def head(parts: tuple[Views, Array]):
            views, products = parts
            query, keys, values = map(at_least_float32, views(tokens))
            out, products = running_sums(query, keys, values, products, chunk=self.chunk)
            return (out / (t * self.divisor)[:, None]).astype(tokens.dtype), products

        out, products = over_heads(head, (self.views, state.products))
        return self.merge(out), Sums(products, state.seen + new)


@final
class CausalEluLinearAttention(CausalMixer):
    """Linear attention with the features φ = elu + 1, to what came before.

        o_t = φ(q_t) Σ_{s≤t} φ(k_s)ᵀ v_s / φ(q_t)·Σ_{s≤t} φ(k_s)

    The weights of the tokens so far add up to 1. Time grows with n. The state is Σ φ(k)ᵀ(v, 1): the last column is the
    sum of the keys, which the normaliser needs.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - chunk: how many tokens are multiplied at a time, 64 by default; it changes the time it takes, and no number but
      for rounding
    - key: random key for all parameters

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> layer = mttt.CausalEluLinearAttention(16, 2, key=jax.random.key(0))
        >>> mixed, state = layer.go_on(layer.start(), jnp.ones((10, 16)))
        >>> mixed.shape, state.shape
        ((10, 16), (2, 8, 9))

    Reference: Katharopoulos et al. (2020), *Transformers are RNNs*, arXiv 2006.16236.
    """

    views: Views
    merge: Merge
    chunk: int = eqx.field(static=True)

    def __init__(self, dim: int, heads: int, *, chunk: int = CHUNK, key: PRNGKeyArray):
        check_key(key)
        check_whole(chunk=chunk)
        self.views, self.merge = attention_parts(dim, heads, key=key)
        self.chunk = chunk

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        return Mixed(over_real(lambda tokens: self.advance(self.start(tokens.dtype), tokens)[0], tokens, mask))

    def start(self, dtype: Any = None) -> Float[Array, "heads k v"]:
        heads, width, _ = self.merge.weight.shape
        return jnp.zeros((heads, width, width + 1), _sum_dtype(dtype))

    def advance(
        self, state: Float[Array, "heads k v"], tokens: Float[Array, "m d"]
    ) -> tuple[Float[Array, "m d"], Float[Array, "heads k v"]]:
        def head(parts: tuple[Views, Array]):
            views, products = parts
            query, keys, values = map(at_least_float32, views(tokens))
            query, keys = jax.nn.elu(query) + 1, jax.nn.elu(keys) + 1
            values = jnp.concatenate([values, jnp.ones_like(values[:, :1])], axis=1)
            out, products = running_sums(query, keys, values, products, chunk=self.chunk)
            return (out[:, :-1] / out[:, -1:]).astype(tokens.dtype), products

        out, state = over_heads(head, (self.views, state))
        return self.merge(out), state


def running_sums(
    query: Float[Array, "n k"],
    keys: Float[Array, "n k"],
    values: Float[Array, "n v"],
    before: Float[Array, "k v"],
    *,
    chunk: int,
) -> tuple[Float[Array, "n v"], Float[Array, "k v"]]:
    """q_t (S + Σ_{s≤t} k_sᵀv_s) for each t, where S is what was `before`; and S + Σ k_sᵀv_s over all of them.

    Only the sums at the beginning of each chunk are made. Inside of a chunk it is tril(QKᵀ)V, as in attention.
    """
    n = query.shape[0]
    size = min(chunk, n)
    count = -(-n // size)
    pad = lambda rows: jnp.pad(rows, ((0, count * size - n), (0, 0))).reshape(count, size, -1)  # noqa: E731
    query, keys, values = map(pad, (query, keys, values))  # a key of 0 adds nothing
    inside = jnp.tril(query @ keys.transpose(0, 2, 1)) @ values
    after, sums = _add_up(before, keys.transpose(0, 2, 1) @ values)
    return (inside + query @ sums).reshape(count * size, -1)[:n], after


def _add_up(before: Float[Array, "k v"], each: Float[Array, "count k v"]) -> tuple[Array, Array]:
    """The sum of all, and the sums before each."""
    if each.shape[0] == 1:  # no loop for a few tokens
        return before + each[0], before[None]
    return jax.lax.scan(lambda total, one: (total + one, total), before, each)


def _sum_dtype(dtype: Any) -> Any:
    """Sums are float32 at least: a bfloat16 would soon be too large to notice one more token."""
    return at_least_float32(jnp.zeros((), float_dtype(dtype))).dtype
