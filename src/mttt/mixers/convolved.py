"""A short convolution before a mixer."""

from typing import Any, NamedTuple, final

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.base import MakeMixer, Mixed
from mttt.mixers.causal import CausalMixer, float_dtype, over_real
from mttt.mixers.trial import check_made, check_maker
from mttt.nn.check import check_key, check_rows, check_whole
from mttt.nn.mask import keep_real


class Convolving(NamedTuple):
    """The last width − 1 tokens, and the state of the mixer inside."""

    before: Float[Array, "before d"]
    inside: Any


@final
class Convolved(CausalMixer):
    """A short convolution before a causal mixer: each feature is blended with that of the `width` − 1 tokens before it.

    At first the convolution is the identity, so that the layer begins as its mixer would alone; the taps of earlier
    tokens have gradients at once. The state is the last width − 1 tokens, and the mixer's.

    Arguments:
    - dim: d, the width of a token
    - heads: of the mixer
    - mixer: makes the causal mixer, as `mixer(dim, heads, key=key)`. `partial(Convolved, mixer=…)` is such a maker, too
    - width: how many tokens are blended, the token itself among them; 4 by default, at least 2
    - key: random key for the mixer

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> layer = mttt.Convolved(16, 2, mixer=mttt.CausalSelfAttention, key=jax.random.key(0))
        >>> layer(jnp.ones((10, 16))).tokens.shape, layer.taps.shape
        ((10, 16), (4, 16))
    """

    taps: Float[Array, "width d"]  # no `weight`: decay would pull it away from the identity
    mixer: CausalMixer

    def __init__(self, dim: int, heads: int, *, mixer: MakeMixer, width: int = 4, key: PRNGKeyArray):
        check_key(key)
        check_whole(dim=dim)
        check_whole(least=2, most=10_000, width=width)
        check_maker("mixer", mixer, "dim, heads, *, key", each="layer")
        self.taps = jnp.zeros((width, dim)).at[-1].set(1)
        self.mixer = check_made("mixer", mixer(dim, heads, key=key), CausalMixer)

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        nothing = self._nothing(tokens.dtype)
        tokens = over_real(lambda tokens: self._convolve(nothing, tokens)[0], tokens, mask)
        return self.mixer.mix(keep_real(tokens, mask), mask=mask, key=key, trace=trace)

    def start(self, dtype: Any = None) -> Convolving:
        return Convolving(self._nothing(float_dtype(dtype)), self.mixer.start(dtype))

    def make_room(self, state: Convolving, count: int) -> Convolving:
        return state._replace(inside=self.mixer.make_room(state.inside, count))

    def advance(self, state: Convolving, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Convolving]:
        convolved, before = self._convolve(state.before, tokens)
        mixed, inside = self.mixer.advance(state.inside, convolved)
        return mixed, Convolving(before, inside)

    def _nothing(self, dtype: Any) -> Float[Array, "before d"]:
        return jnp.zeros((self.taps.shape[0] - 1, self.taps.shape[1]), dtype)

    def _convolve(
        self, before: Float[Array, "before d"], tokens: Float[Array, "n d"]
    ) -> tuple[Float[Array, "n d"], Float[Array, "before d"]]:
        check_rows(tokens, self.taps.shape[1])
        return convolve_before(self.taps, before, tokens)


def convolve_before(
    taps: Float[Array, "width d"], before: Float[Array, "before d"], tokens: Float[Array, "n d"]
) -> tuple[Float[Array, "n d"], Float[Array, "before d"]]:
    """Each token blended with those before it, the last tap for itself; and the last width − 1 tokens as they came."""
    n, rows = tokens.shape[0], jnp.concatenate([before, tokens])
    blend = jnp.zeros_like(tokens)
    for i, tap in enumerate(taps.astype(tokens.dtype)):
        blend += tap[None, :] * rows[i : i + n]
    return blend, rows[n:]
