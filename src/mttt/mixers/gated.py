"""A gate beside a mixer."""

from typing import Any, final

import jax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.base import MakeMixer, Mixed
from mttt.mixers.causal import CausalMixer
from mttt.mixers.trial import check_made, check_maker
from mttt.nn.check import check_key
from mttt.nn.dense import Dense, gelu


@final
class Gated(CausalMixer):
    """A gate beside a causal mixer: each token decides which features of what was mixed it lets through.

        x ↦ GELU(xA + b) ⊙ mixer(x)

    The state is that of the mixer inside.

    Arguments:
    - dim: d, the width of a token
    - heads: of the mixer
    - mixer: makes the causal mixer, as `mixer(dim, heads, key=key)`. `partial(Gated, mixer=…)` is such a maker, too
    - key: random key for the gate and the mixer

    Example:

        >>> from functools import partial
        >>> import jax, jax.numpy as jnp, mttt
        >>> inside = partial(mttt.Convolved, mixer=mttt.CausalSelfAttention)
        >>> layer = mttt.Gated(16, 2, mixer=inside, key=jax.random.key(0))
        >>> layer(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    gate: Dense
    mixer: CausalMixer

    def __init__(self, dim: int, heads: int, *, mixer: MakeMixer, key: PRNGKeyArray):
        check_key(key)
        check_maker("mixer", mixer, "dim, heads, *, key", each="layer")
        gate_key, mixer_key = jax.random.split(key)
        self.gate = Dense(dim, dim, key=gate_key)
        self.mixer = check_made("mixer", mixer(dim, heads, key=mixer_key), CausalMixer)

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        mixed = self.mixer.mix(tokens, mask=mask, key=key, trace=trace)
        return mixed._replace(tokens=gelu(self.gate(tokens)) * mixed.tokens)

    def start(self, dtype: Any = None) -> Any:
        return self.mixer.start(dtype)

    def make_room(self, state: Any, count: int) -> Any:
        return self.mixer.make_room(state, count)

    def advance(self, state: Any, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Any]:
        mixed, state = self.mixer.advance(state, tokens)
        return gelu(self.gate(tokens)) * mixed, state
