"""What a mixer is."""

import abc
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray


class Mixed(NamedTuple):
    """The mixed tokens; each head's inner losses at t = 0 … T, if there is an inner loop and they were asked for."""

    tokens: Float[Array, "n d"]
    losses: Float[Array, "heads T+1"] | None = None


class Mixer(eqx.Module):
    """A layer that lets tokens exchange information, as attention does. One input, (n, d) → (n, d)."""

    @abc.abstractmethod
    def __call__(self, tokens: Float[Array, "n d"], *, key: PRNGKeyArray | None = None, trace: bool = False) -> Mixed:
        """Mix. `key` makes what is random random; without it all is deterministic. `trace` asks for losses."""
