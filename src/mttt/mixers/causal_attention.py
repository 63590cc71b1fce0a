"""Softmax attention to what came before."""

from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mttt.mixers.attention import attend
from mttt.mixers.base import Mixed
from mttt.mixers.causal import CausalMixer, float_dtype, over_real
from mttt.mixers.heads import Merge, Views, attention_parts, head_width, over_heads
from mttt.mixers.rotary import Rotary, check_positions, rotate
from mttt.nn.check import check_key

NO_ROOM = (
    "the cache of CausalSelfAttention has room for {room} tokens, and more came. Inside of jax.jit it cannot grow: "
    "call state = make_room(state, count) before, with the number of tokens to come"
)


class Cache(NamedTuple):
    """Keys, with their places in them, and values of all tokens so far; behind the first `seen` is room for more."""

    keys: Float[Array, "*blocks heads room k"]
    values: Float[Array, "*blocks heads room k"]
    seen: Int[Array, "*blocks"]


@final
class CausalSelfAttention(CausalMixer):
    """Self-attention of each token to itself and to all before it.

    Its time grows with n², its state with n: the keys and values of all tokens. Inside of `jax.jit` the state cannot
    grow; `make_room` before. With padding, a token's place is the number of real tokens before it.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a head is k = d/H wide
    - positions: rotate queries and keys by their places; `Rotary()` by default, for even k. None leaves order to the
      mask
    - key: random key for all parameters

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.CausalSelfAttention(16, 2, key=jax.random.key(0))
        >>> x, go_on = jax.random.normal(jax.random.key(1), (10, 16)), eqx.filter_jit(layer.go_on)
        >>> first, state = go_on(layer.make_room(layer.start(), 10), x[:5])
        >>> rest, state = go_on(state, x[5:])
        >>> bool(jnp.allclose(jnp.concatenate([first, rest]), layer(x).tokens, atol=1e-5))
        True

    Reference: Vaswani et al. (2017), *Attention Is All You Need*, arXiv 1706.03762.
    """

    views: Views
    merge: Merge
    positions: Rotary | None

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        positions: Rotary | None = Rotary(),  # noqa: B008
        key: PRNGKeyArray,
    ):
        check_key(key)
        check_positions(positions, head_width(dim, heads))
        self.views, self.merge = attention_parts(dim, heads, key=key)
        self.positions = positions

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        return Mixed(over_real(self._mix, tokens, mask))

    def start(self, dtype: Any = None) -> Cache:
        heads, width, _ = self.merge.weight.shape
        nothing = jnp.zeros((heads, 0, width), float_dtype(dtype))
        return Cache(nothing, nothing, jnp.zeros((), jnp.int32))

    def make_room(self, state: Cache, count: int) -> Cache:
        """The state with room for `count` more tokens: the next power of two, so that programs are compiled rarely.

        Inside of `jax.jit` nobody knows how many there are, unless there are none yet; the state is left as it is.
        """
        room = state.keys.shape[-2]
        if isinstance(state.seen, Tracer) and room:
            return state
        there = np.max(state.seen, initial=0) if room else 0
        more = (1 << int(there + count - 1).bit_length()) - room if there + count > room else 0
        grow = lambda rows: jnp.pad(rows, [(0, 0)] * (rows.ndim - 2) + [(0, more), (0, 0)])  # noqa: E731
        return state._replace(keys=grow(state.keys), values=grow(state.values)) if more else state

    def advance(self, state: Cache, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Cache]:
        new, room = tokens.shape[0], state.keys.shape[1]
        reason = NO_ROOM.format(room=room)
        if new > room:
            raise ValueError(reason)
        count = eqx.error_if(state.seen, state.seen > room - new, reason)
        places = count + jnp.arange(new, dtype=count.dtype)
        before = jnp.arange(room, dtype=count.dtype)[None, :] <= places[:, None]

        def head(parts: tuple[Views, Array, Array]):
            views, all_keys, all_values = parts
            query, keys, values = self._views(views, tokens, places)
            all_keys = jax.lax.dynamic_update_slice_in_dim(all_keys, keys, count, axis=0)
            all_values = jax.lax.dynamic_update_slice_in_dim(all_values, values, count, axis=0)
            return attend(query, all_keys, all_values, before), all_keys, all_values

        out, keys, values = over_heads(head, (self.views, state.keys, state.values))
        return self.merge(out), Cache(keys, values, count + new)

    def _mix(self, tokens: Float[Array, "n d"]) -> Float[Array, "n d"]:
        places = jnp.arange(tokens.shape[0])
        before = places[None, :] <= places[:, None]
        head = lambda views: attend(*self._views(views, tokens, places), mask=before)  # noqa: E731
        return self.merge(over_heads(head, self.views))

    def _views(self, views: Views, tokens: Float[Array, "n d"], places: Int[Array, " n"]) -> tuple[Array, Array, Array]:
        query, keys, values = views(tokens)
        return rotate(self.positions, query, places), rotate(self.positions, keys, places), values
