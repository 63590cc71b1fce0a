"""Long convolutions and gates over what came before."""

from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.base import Mixed
from mttt.mixers.causal import CausalMixer, float_dtype, over_real
from mttt.mixers.convolved import convolve_before
from mttt.mixers.hyena import Filters
from mttt.nn.check import check_key, check_whole
from mttt.nn.dense import Dense, at_least_float32, fan_in_uniform

SHORT = 3  # tokens of the short convolution


class Waves(NamedTuple):
    """What goes into each convolution: the last few projections, and the last z of each order."""

    short: Float[Array, "views few d"]
    long: Float[Array, "order before d"]


@final
class CausalHyena(CausalMixer):
    """Hyena as its paper has it, for sequences: long convolutions of the last `context` tokens, and gates.

        z ← xᵢ ⊙ (hᵢ ∗ z + sᵢ ⊙ z) for i = 1 … N, from z = v

    v and x₁ … x_N are projections of the tokens, each followed by a convolution of length 3, without a bias. Beyond
    `context` filters are 0, so that a state of a fixed size is exact; it is also the length that distances are parts
    of. Time grows with n log n. Every call makes the filters anew, which for one token is most of its time.

    Arguments:
    - dim: d, the width of a token
    - heads: ignored, as there are no heads; mixers are made with it
    - context: how many tokens the filters reach, the token itself among them; at least 2
    - order: N, 2 by default
    - width: of the network that makes the filters; 64 by default
    - bands: how many frequencies of the distance go into it, with a sine and a cosine each; 16 by default
    - key: random key for all parameters

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.CausalHyena(16, 2, context=4, width=8, bands=4, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Poli et al. (2023), *Hyena Hierarchy*, arXiv 2302.10866.
    """

    inside: tuple[Dense, ...]
    short: Float[Array, "views 3 d"]
    filters: Filters
    skip: Float[Array, "order d"]
    out: Dense
    context: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        context: int,
        order: int = 2,
        width: int = 64,
        bands: int = 16,
        key: PRNGKeyArray,
    ):
        del heads
        check_whole(dim=dim, width=width, bands=bands)
        check_whole(least=2, context=context)
        check_whole(most=100, order=order)
        check_key(key)
        inside_key, short_key, filters_key, skip_key, out_key = jax.random.split(key, 5)
        self.inside = tuple(Dense(dim, dim, key=key) for key in jax.random.split(inside_key, order + 1))
        self.short = jax.vmap(lambda key: fan_in_uniform(key, (SHORT, dim)))(jax.random.split(short_key, order + 1))
        self.filters = Filters(dim, order=order, width=width, bands=bands, sides=1, key=filters_key)
        self.skip = jax.random.normal(skip_key, (order, dim))
        self.out = Dense(dim, dim, key=out_key)
        self.context = context

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        # What lies further back than there are tokens is 0 here.
        start = self._start(min(self.context, tokens.shape[0]) - 1, tokens.dtype)
        return Mixed(over_real(lambda tokens: self.advance(start, tokens)[0], tokens, mask))

    def start(self, dtype: Any = None) -> Waves:
        return self._start(self.context - 1, float_dtype(dtype))

    def advance(self, state: Waves, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Waves]:
        new = tokens.shape[0]
        views = jnp.stack([inside(tokens) for inside in self.inside])
        views, short = jax.vmap(convolve_before)(self.short, state.short, views)
        z, *gates = at_least_float32(views)
        filters = self.filters.sided(state.long.shape[1] + 1, z.dtype, self.context)[0]
        long = []
        for gate, filter, skip, before in zip(gates, filters, self.skip.astype(z.dtype), state.long, strict=True):
            signal = jnp.concatenate([before, z])
            long.append(signal[new:])
            z = gate * (convolve_last(signal, filter) + skip[None, :] * z)
        return self.out(z.astype(tokens.dtype)), Waves(short, jnp.stack(long))

    def _start(self, before: int, dtype: Any) -> Waves:
        order, dim = self.skip.shape
        short = jnp.zeros((order + 1, SHORT - 1, dim), dtype)
        return Waves(short, jnp.zeros((order, before, dim), at_least_float32(short).dtype))


def convolve_last(signal: Float[Array, "n d"], filter: Float[Array, "reach d"]) -> Float[Array, "m d"]:
    """Each feature convolved with its filter, where all of the filter has something below it: at the last rows."""
    n, reach = signal.shape[0], filter.shape[0]
    if n == reach:  # one token
        return jnp.sum(signal[::-1] * filter, axis=0, keepdims=True)
    # In a circle of n, the first rows see the last ones, and only these are wrong.
    spectrum = jnp.fft.rfft(signal, axis=0) * jnp.fft.rfft(filter, n, axis=0)
    return jnp.fft.irfft(spectrum, n, axis=0)[reach - 1 :]
