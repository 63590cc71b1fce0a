"""Softmax attention to the last few tokens."""

from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mttt.mixers.attention import attend
from mttt.mixers.base import Mixed
from mttt.mixers.causal import CausalMixer, float_dtype, over_real
from mttt.mixers.heads import Merge, Views, attention_parts, head_width, over_heads
from mttt.mixers.rotary import Rotary, check_positions, rotate
from mttt.nn.check import check_key, check_whole


class Lately(NamedTuple):
    """Keys, without places, and values of the last window − 1 tokens; the last `seen` of them were there."""

    keys: Float[Array, "heads before k"]
    values: Float[Array, "heads before k"]
    seen: Int[Array, ""]


@final
class SlidingWindow(CausalMixer):
    """Self-attention of each token to the last `window` tokens, itself among them.

    Time and memory grow with n · window; the state is the keys and values of window − 1 tokens. `positions` rotate by
    places in the window: what comes out depends on no token before it, and on no place of the sequence, however long it
    becomes.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - window: how many tokens a token sees, itself among them; at least 2
    - positions: rotate queries and keys by their places; `Rotary()` by default, for even k. None: no positions
    - key: random key for all parameters

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.SlidingWindow(16, 2, window=4, key=jax.random.key(0))
        >>> mixed, state = eqx.filter_jit(layer.go_on)(layer.start(), jnp.ones((10, 16)))
        >>> mixed.shape, state.keys.shape
        ((10, 16), (2, 3, 8))
    """

    views: Views
    merge: Merge
    positions: Rotary | None
    window: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        window: int,
        positions: Rotary | None = Rotary(),  # noqa: B008
        key: PRNGKeyArray,
    ):
        check_key(key)
        check_whole(least=2, window=window)
        check_positions(positions, head_width(dim, heads))
        self.views, self.merge = attention_parts(dim, heads, key=key)
        self.positions, self.window = positions, window

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        # A window that is longer than the input is no other than one that is as long.
        start = self._start(min(self.window - 1, tokens.shape[0]), tokens.dtype)
        return Mixed(over_real(lambda tokens: self.advance(start, tokens)[0], tokens, mask))

    def start(self, dtype: Any = None) -> Lately:
        return self._start(self.window - 1, float_dtype(dtype))

    def advance(self, state: Lately, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Lately]:
        new, before = tokens.shape[0], state.keys.shape[1]

        def head(parts: tuple[Views, Array, Array]):
            views, last_keys, last_values = parts
            query, keys, values = views(tokens)
            keys, values = jnp.concatenate([last_keys, keys]), jnp.concatenate([last_values, values])
            return self._slide(query, keys, values, state.seen), keys[new:], values[new:]

        out, keys, values = over_heads(head, (self.views, state.keys, state.values))
        return self.merge(out), Lately(keys, values, jnp.minimum(state.seen + min(new, before), before))

    def _start(self, before: int, dtype: Any) -> Lately:
        heads, width, _ = self.merge.weight.shape
        nothing = jnp.zeros((heads, before, width), dtype)
        return Lately(nothing, nothing, jnp.zeros((), jnp.int32))

    def _slide(
        self,
        query: Float[Array, "m k"],
        keys: Float[Array, "n k"],
        values: Float[Array, "n k"],
        seen: Int[Array, ""],
    ) -> Float[Array, "m k"]:
        """Blocks of queries look at their own block of keys and at the one before it."""
        new, before = query.shape[0], keys.shape[0] - query.shape[0]
        if new <= before:
            return self._block(query, keys, values, seen)
        count = -(-new // before)
        ends = count * before - new

        def blocks(rows: Float[Array, "n k"]) -> Float[Array, "count before k"]:
            return jnp.pad(rows, ((0, ends), (0, 0))).reshape(-1, before, rows.shape[1])

        def pairs(rows: Float[Array, "n k"]) -> Float[Array, "count twice k"]:
            each = blocks(rows)
            return jnp.concatenate([each[:-1], each[1:]], axis=1)

        there = jnp.minimum(seen + before * jnp.arange(count, dtype=seen.dtype), before)
        out = jax.vmap(self._block)(blocks(query), pairs(keys), pairs(values), there)
        return out.reshape(count * before, -1)[:new]

    def _block(
        self,
        query: Float[Array, "m k"],
        keys: Float[Array, "n k"],
        values: Float[Array, "n k"],
        seen: Int[Array, ""],
    ) -> Float[Array, "m k"]:
        """The last m of the keys are those of the queries; of the ones before, the last `seen` are there."""
        new, before = query.shape[0], keys.shape[0] - query.shape[0]
        rows = jnp.arange(before + new, dtype=seen.dtype)
        i, j = rows[before:], rows
        near = (j[None, :] <= i[:, None]) & (j[None, :] >= i[:, None] - before) & (j >= before - seen)[None, :]
        return attend(rotate(self.positions, query, i), rotate(self.positions, keys, j), values, near)
