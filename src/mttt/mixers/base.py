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
    """What a mixer returns.

    Fields:
    - tokens: the mixed tokens, (n, d)
    - losses: each head's inner losses at t = 0 … T, (heads, T + 1), in the unit of the task: for `Reconstruction`, half
      the squared error, mean over tokens and features. None if there is no inner loop, or `trace` did not ask for them

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, key=jax.random.key(0))
        >>> mixed = eqx.filter_jit(layer)(jnp.ones((10, 16)), trace=True)
        >>> mixed.tokens.shape, mixed.losses.shape
        ((10, 16), (2, 2))
    """

    tokens: Float[Array, "n d"]
    losses: Float[Array, "heads T+1"] | None = None


class Mixer(eqx.Module):
    """A layer that lets tokens exchange information, as attention does: one input, (n, d) → (n, d).

    All mixers are called as `mixer(tokens, *, mask=None, key=None, trace=False)` and return `Mixed(tokens, losses)`. A
    batch of inputs is `jax.vmap`. The tokens' dtype is that of computation; parameters, statistics and inner loops are
    float32. Models make mixers as `mixer(dim, heads, key=key)`; use `functools.partial` for options.

    To implement: `mix(tokens, *, mask, key, trace)`. To call the mixer is to have its inputs checked first.

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> class Mean(mttt.Mixer):  # add the mean over the tokens to each
        ...     def __init__(self, dim, heads, *, key):
        ...         pass
        ...     def mix(self, tokens, *, mask, key, trace):
        ...         return mttt.Mixed(tokens + mttt.mean_of_real(tokens, mask))
        >>> mixer = Mean(16, 2, key=jax.random.key(0))
        >>> mixer(jnp.ones((10, 16)), mask=jnp.arange(10) < 6).tokens[5:7, 0].tolist()  # real, padding
        [2.0, 0.0]
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
