"""What a mixer is."""

import abc
from typing import Any, NamedTuple, Protocol, final, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.nn.check import check_tokens
from mttt.nn.dense import at_least_float32
from mttt.nn.mask import keep_real


class Mixed(NamedTuple):
    """The mixed tokens; each head's inner losses at t = 0 … T, if there is an inner loop and they were asked for."""

    tokens: Float[Array, "n d"]
    losses: Float[Array, "heads T+1"] | None = None


class Mixer(eqx.Module):
    """A layer that lets tokens exchange information, as attention does. One input, (n, d) → (n, d).

    Your own mixer implements `mix`; to call it is to have its inputs checked first.
    """

    @final
    def __call__(
        self,
        tokens: Float[Array, "..."],
        *,
        mask: Any = None,
        key: PRNGKeyArray | None = None,
        trace: bool = False,
    ) -> Mixed:
        """Mix the tokens (n, d) of one input.

        `mask` (n,) is True for real tokens. Real tokens come out as if the others were not there; the others come out
        as 0, whatever they hold. `key` makes what is random random; without it all is deterministic. `trace` asks for
        inner losses.
        """
        check_tokens(tokens, mask)
        if mask is None:
            return self.mix(tokens, mask=None, key=key, trace=trace)
        mixed = self.mix(keep_real(tokens, mask), mask=mask, key=key, trace=trace)
        return mixed._replace(tokens=keep_real(mixed.tokens, mask))

    @abc.abstractmethod
    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        """What `__call__` describes. Where the mask is False, tokens are 0, and what comes out of them is not used."""


@runtime_checkable
class MakeMixer(Protocol):
    """Draws one mixer; mixer classes are their own makers."""

    def __call__(self, dim: int, heads: int, *, key: PRNGKeyArray) -> Mixer: ...


def real_count(tokens: Float[Array, "n d"], mask: Bool[Array, " n"] | None) -> int | Float[Array, ""]:
    """How many tokens are real; at least 1, so that a mean over none is 0."""
    return tokens.shape[0] if mask is None else jnp.maximum(jnp.sum(mask), 1).astype(at_least_float32(tokens).dtype)
