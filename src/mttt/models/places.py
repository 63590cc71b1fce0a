"""Where a token of a sequence is, told to the model by what is added to the token."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mttt.nn.check import check_whole

Place = int | Int[Array, ""]


class NoPlaces(eqx.Module):
    """For an `LM`, nothing is added to the tokens: the mixers know their order, and sequences have no end.

    Arguments:
    - dim: not used; places are made as `places(dim, key=key)`
    - key: not used, as there is nothing to draw

    Example:

        >>> import jax, mttt
        >>> places = mttt.NoPlaces(16, key=jax.random.key(0))
        >>> places.most is None  # a sequence may be as long as it wants
        True
    """

    def __init__(self, dim: int, *, key: PRNGKeyArray):
        del dim, key  # nothing to draw

    @property
    def most(self) -> int | None:
        """How long a sequence may be; None is without end."""
        return None

    def __call__(self, tokens: Float[Array, "n d"], first: Place) -> Float[Array, "n d"]:
        """The tokens (n, d) from place `first` on, as they came."""
        return tokens


class LearnedPlaces(eqx.Module):
    """For an `LM`, one trained vector a place is added to the tokens, drawn from N(0, 0.02²), as in GPT-2.

    Beyond the last place there is nothing: a longer sequence is an error, or NaN inside of a compiled program.

    Arguments:
    - dim: d, the width of a token
    - context: how many places there are
    - key: random key for the vectors

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> places = mttt.LearnedPlaces(16, context=12, key=jax.random.key(0))
        >>> places(jnp.ones((10, 16)), 2).shape, places.most
        ((10, 16), 12)

    Reference: Radford et al. (2019), *Language Models are Unsupervised Multitask Learners* (GPT-2).
    """

    table: Float[Array, "n d"]

    def __init__(self, dim: int, *, context: int, key: PRNGKeyArray):
        check_whole(context=context, dim=dim)
        self.table = 0.02 * jax.random.normal(key, (context, dim))

    @property
    def most(self) -> int | None:
        """How long a sequence may be."""
        return self.table.shape[0]

    def __call__(self, tokens: Float[Array, "n d"], first: Place) -> Float[Array, "n d"]:
        """The tokens (n, d) from place `first` on, each with the vector of its place."""
        n, most = tokens.shape[0], self.table.shape[0]
        last = n if isinstance(first, Tracer) else int(first) + n
        if last > most:
            raise ValueError(
                f"{last} tokens: this model has learned positions for a context of {most}, and none beyond. Give it "
                f"at most {most}, or train one without positions"
            )
        places = jnp.asarray(first, jnp.int32) + jnp.arange(n, dtype=jnp.int32)
        # Inside of a compiled program nobody can be told, so a place that is not there is NaN, not a wrong number.
        vectors = self.table.at[places].get(mode="fill", fill_value=jnp.nan)
        return tokens + vectors.astype(tokens.dtype)
