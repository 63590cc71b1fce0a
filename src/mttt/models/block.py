"""A transformer block around any mixer."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers import CausalMixer, Mixed, Mixer
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
    """A transformer block around any mixer: x + mixer(LN(x)), then x + MLP(LN(x)).

    It is called as `block(tokens, *, mask=None, key=None, trace=False)` and returns `Mixed`, as mixers do. If the mixer
    is causal, the block has a state and can go on: that of its mixer.

    Arguments:
    - mixer: a layer that was built already, for tokens of width d
    - dim: d, the width of a token
    - mlp_factor: how many times wider than d the MLP's hidden layer is, 4 by default; 0 leaves that half of the block
      out
    - key: random key for the MLP

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> mixer = mttt.SelfAttention(16, 2, key=jax.random.key(0))
        >>> block = mttt.Block(mixer, 16, key=jax.random.key(1))
        >>> eqx.filter_jit(block)(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Beyer et al. (2022), *Better plain ViT baselines for ImageNet-1k*, arXiv 2205.01580.
    """

    mixer_norm: LayerNorm
    mixer: Mixer
    mlp_norm: LayerNorm | None
    mlp: MLP | None

    def __init__(self, mixer: Mixer | Any, dim: int, *, mlp_factor: int = 4, key: PRNGKeyArray):
        check_key(key)
        check_whole(dim=dim)
        check_whole(least=0, mlp_factor=mlp_factor)
        self.mixer_norm = LayerNorm(dim)
        self.mixer = mixer
        if not callable(mixer):
            raise TypeError(f"mixer is of type {type(mixer).__name__}; expected a layer, for example SelfAttention(…)")
        self.mlp_norm = LayerNorm(dim) if mlp_factor else None
        self.mlp = MLP(dim, mlp_factor, key=key) if mlp_factor else None

    def __call__(
        self,
        tokens: Float[Array, "n d"],
        *,
        mask: Bool[Array, " n"] | None = None,
        key: PRNGKeyArray | None = None,
        trace: bool = False,
    ) -> Mixed:
        """The block's output (n, d) for tokens (n, d), and the mixer's inner losses.

        `mask`, `key` and `trace` are those of the mixer.
        """
        check_tokens(tokens, mask)
        tokens = keep_real(tokens, mask)
        mixed = self.mixer(self.mixer_norm(tokens), mask=mask, key=key, trace=trace)
        return Mixed(self.second_half(tokens + mixed.tokens), mixed.losses)

    def start(self, dtype: Any = None) -> Any:
        """The state before the first token. `dtype` is that of the tokens to come."""
        return self._causal().start(dtype)

    def make_room(self, state: Any, count: int) -> Any:
        """A state that can take `count` more tokens."""
        return self._causal().make_room(state, count)

    def go_on(self, state: Any, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Any]:
        """The next tokens (m, d) of the sequence that the state has seen, and the next state."""
        check_tokens(tokens, None)
        mixed, state = self._causal().go_on(state, self.mixer_norm(tokens))
        return self.second_half(tokens + mixed), state

    def second_half(self, tokens: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """What comes after the mixer."""
        if self.mlp is None or self.mlp_norm is None:
            return tokens
        return tokens + self.mlp(self.mlp_norm(tokens))

    def _causal(self) -> CausalMixer:
        if not isinstance(self.mixer, CausalMixer):
            raise TypeError(
                f"{type(self.mixer).__name__} is not causal: a token in it sees the ones after it, so it cannot go on. "
                "Take a CausalMixer, for example CausalSelfAttention"
            )
        return self.mixer
