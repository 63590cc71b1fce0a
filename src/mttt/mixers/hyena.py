"""Long convolutions and gates instead of attention."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers.base import Mixed, Mixer, real_count
from mttt.nn.check import check_key, check_whole
from mttt.nn.dense import Dense, at_least_float32, fan_in_uniform
from mttt.nn.mask import keep_real

SMALL = 1e-2  # what the decay leaves of a filter, at 0.3 of the length for the fastest channel, at 1.5 for the slowest
FASTEST, SLOWEST = 0.3, 1.5


class ShortConvolution(eqx.Module):
    """Each feature for itself: a token, the one before it and the one after it."""

    weight: Float[Array, "3 d"]
    bias: Float[Array, " d"]

    def __init__(self, dim: int, *, key: PRNGKeyArray):
        self.weight = fan_in_uniform(key, (3, dim))
        self.bias = jnp.zeros(dim)

    def __call__(self, tokens: Float[Array, "n d"]) -> Float[Array, "n d"]:
        before, here, after = self.weight.astype(tokens.dtype)[:, None, :]
        padded = jnp.pad(tokens, ((1, 1), (0, 0)))
        mixed = before * padded[:-2] + here * padded[1:-1] + after * padded[2:]
        return mixed + self.bias.astype(tokens.dtype)[None, :]


class Filters(eqx.Module):
    """The long filters as functions of the distance: a network with sines for activations, times a fixed decay.

    Distances are parts of n, so that the same parameters make filters of any length, and filters are divided by √n, so
    that the scale of what they give does not grow with it. `sides` is 2 for filters that reach before and after a
    token, each with its own, and 1 for those that reach before it.
    """

    layers: tuple[Dense, ...]
    frequency: Float[Array, " width"]
    last: Dense
    order: int = eqx.field(static=True)
    bands: int = eqx.field(static=True)
    sides: int = eqx.field(static=True)

    def __init__(self, dim: int, *, order: int, width: int, bands: int, sides: int = 2, key: PRNGKeyArray):
        *keys, last_key = jax.random.split(key, 4)
        widths = (1 + 2 * bands, width, width)
        self.layers = tuple(Dense(inputs, width, key=key) for inputs, key in zip(widths, keys, strict=True))
        self.frequency = jnp.ones(width)
        self.last = Dense(width, sides * order * dim, key=last_key, kernel_init=fan_in_uniform)
        self.order, self.bands, self.sides = order, bands, sides

    def __call__(
        self, n: int, dtype: jnp.dtype, real: int | Float[Array, ""] | None = None
    ) -> Float[Array, "order twice_n d"]:
        """Each filter at offsets 0 … n − 1, none, −(n − 1) … −1: so as to be convolved in a circle of 2n.

        `real` is the n that distances are parts of, if some tokens are padding.
        """
        before, after = self.sided(n, dtype, real)
        return jnp.concatenate([before, jnp.zeros_like(after[:, :1]), after[:, :0:-1]], axis=1)

    def sided(
        self, n: int, dtype: jnp.dtype, length: int | Float[Array, ""] | None = None
    ) -> Float[Array, "sides order n d"]:
        """Each filter at distances 0 … n − 1. `length` is what distances are parts of, if it is not n."""
        length = n if length is None else jnp.asarray(length, dtype)
        distance = (jnp.arange(n, dtype=dtype) / length)[:, None]
        angle = 2 * math.pi * distance * jnp.arange(1, self.bands + 1, dtype=dtype)[None, :]
        hidden = jnp.concatenate([distance, jnp.cos(angle), jnp.sin(angle)], axis=1)
        for layer in self.layers:
            hidden = jnp.sin(self.frequency.astype(dtype)[None, :] * layer(hidden))
        each = self.last(hidden).reshape(n, self.sides, self.order, -1).transpose(1, 2, 0, 3)
        rates = -math.log(SMALL) / jnp.linspace(SLOWEST, FASTEST, each.shape[3], dtype=dtype)[None, :]
        return each * (jnp.exp(-distance * rates) / length**0.5)[None, None]


class Hyena(Mixer):
    """Hyena of order N: long convolutions with implicit filters, and gates, in both directions.

        z ← xᵢ ⊙ (hᵢ ∗ z + sᵢ ⊙ z) for i = 1 … N, from z = v

    v and x₁ … x_N are projections of the tokens, each followed by a convolution of length 3. The filters hᵢ are a
    network of the distance with sines for activations, times an exponential decay. They reach all tokens before and
    after: that paper's are causal, for language (`CausalHyena`); these are for images. Time grows with n log n. No
    parameter depends on n. With a mask, n is the number of real tokens, and distances are between places in the input:
    pad at the end.

    Arguments:
    - dim: d, the width of a token
    - heads: ignored, as there are no heads; mixers are made with it
    - order: N, 2 by default
    - width: of the network that makes the filters; 64 by default
    - bands: how many frequencies of the distance go into it, with a sine and a cosine each; 16 by default
    - key: random key for all parameters

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.Hyena(16, 2, width=8, bands=4, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Poli et al. (2023), *Hyena Hierarchy*, arXiv 2302.10866.
    """

    inside: tuple[Dense, ...]
    short: tuple[ShortConvolution, ...]
    filters: Filters
    skip: Float[Array, "order d"]
    out: Dense

    def __init__(self, dim: int, heads: int, *, order: int = 2, width: int = 64, bands: int = 16, key: PRNGKeyArray):
        del heads
        check_whole(dim=dim, width=width, bands=bands)
        check_whole(most=100, order=order)
        check_key(key)
        inside_key, short_key, filters_key, skip_key, out_key = jax.random.split(key, 5)
        self.inside = tuple(Dense(dim, dim, key=key) for key in jax.random.split(inside_key, order + 1))
        self.short = tuple(ShortConvolution(dim, key=key) for key in jax.random.split(short_key, order + 1))
        self.filters = Filters(dim, order=order, width=width, bands=bands, key=filters_key)
        self.skip = jax.random.normal(skip_key, (order, dim))
        self.out = Dense(dim, dim, key=out_key)

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        z, *gates = (
            at_least_float32(short(keep_real(inside(tokens), mask)))
            for inside, short in zip(self.inside, self.short, strict=True)
        )
        real = None if mask is None else real_count(tokens, mask)
        for gate, around, skip in zip(
            gates, self.filters(tokens.shape[0], z.dtype, real), self.skip.astype(z.dtype), strict=True
        ):
            z = keep_real(z, mask)
            z = gate * (convolve(z, around) + skip[None, :] * z)
        return Mixed(self.out(z.astype(tokens.dtype)))


def convolve(signal: Float[Array, "n d"], around: Float[Array, "twice_n d"]) -> Float[Array, "n d"]:
    """Convolve each feature with its filter, which is in the order of `Filters`: by Fourier transforms."""
    n, circle = signal.shape[0], around.shape[0]
    spectrum = jnp.fft.rfft(signal, circle, axis=0) * jnp.fft.rfft(around, axis=0)
    return jnp.fft.irfft(spectrum, circle, axis=0)[:n]
