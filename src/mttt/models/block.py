"""A transformer block around any mixer."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers import Mixed, Mixer
from mttt.nn import Dense, LayerNorm
from mttt.nn.check import check_key, check_tokens, check_whole
from mttt.nn.dense import gelu
from mttt.nn.mask import keep_real


class MLP(eqx.Module):
    """The block's second half: each token for itself."""

    up: Dense
    down: Dense

    def __init__(self, dim: int, factor: int, *, key: PRNGKeyArray):
        bias_init = jax.nn.initializers.normal(1e-6)
        up, down = jax.random.split(key)
        self.up = Dense(dim, factor * dim, key=up, bias_init=bias_init)
        self.down = Dense(factor * dim, dim, key=down, bias_init=bias_init)

    def __call__(self, tokens: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return self.down(gelu(self.up(tokens)))


class Block(eqx.Module):
    """x + mixer(LN(x)), then x + MLP(LN(x)). Which mixer it is, the block does not ask."""

    mixer_norm: LayerNorm
    mixer: Mixer
    mlp_norm: LayerNorm
    mlp: MLP

    def __init__(self, mixer: Mixer | Any, dim: int, *, mlp_factor: int = 4, key: PRNGKeyArray):
        check_key(key)
        check_whole(dim=dim, mlp_factor=mlp_factor)
        self.mixer_norm = LayerNorm(dim)
        self.mixer = mixer
        if not callable(mixer):
            raise TypeError(f"mixer is of type {type(mixer).__name__}; expected a layer, for example SelfAttention(…)")
        self.mlp_norm = LayerNorm(dim)
        self.mlp = MLP(dim, mlp_factor, key=key)

    def __call__(
        self,
        tokens: Float[Array, "n d"],
        *,
        mask: Bool[Array, " n"] | None = None,
        key: PRNGKeyArray | None = None,
        trace: bool = False,
    ) -> Mixed:
        check_tokens(tokens, mask)
        tokens = keep_real(tokens, mask)
        mixed = self.mixer(self.mixer_norm(tokens), mask=mask, key=key, trace=trace)
        tokens = tokens + mixed.tokens
        return Mixed(tokens + self.mlp(self.mlp_norm(tokens)), mixed.losses)
