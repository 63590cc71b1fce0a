"""Layer normalisation."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mttt.nn.check import check_finite, check_rows, check_whole
from mttt.nn.dense import at_least_float32


class LayerNorm(eqx.Module):
    """Normalise each token over its features, then scale and shift. Statistics are float32 at least."""

    scale: Float[Array, " d"]
    shift: Float[Array, " d"]
    eps: float = eqx.field(static=True)

    def __init__(self, dim: int, *, eps: float = 1e-6):
        check_whole(dim=dim)
        check_finite(above=0.0, eps=eps)
        self.scale = jnp.ones(dim)
        self.shift = jnp.zeros(dim)
        self.eps = eps

    def __call__(self, tokens: Float[Array, "n d"]) -> Float[Array, "n d"]:
        check_rows(tokens, self.scale.shape[0])
        x = at_least_float32(tokens)
        centred = x - jnp.mean(x, axis=1, keepdims=True)
        variance = jnp.mean(centred**2, axis=1, keepdims=True)
        out = centred * jax.lax.rsqrt(variance + self.eps)
        scale, shift = self.scale.astype(x.dtype), self.shift.astype(x.dtype)
        return (out * scale[None, :] + shift[None, :]).astype(tokens.dtype)
