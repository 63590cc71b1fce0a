"""In what order tokens are learned and answered when they are read one after the other."""

import abc
from typing import Any, NamedTuple, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from mttt.nn.check import check_whole


class Chunking(eqx.Module):
    """Tokens in order, `size` at a time: one step of the inner loop for each chunk, at the weights before it.

    To implement: the static field `size`, and `learns_first`. `Chunks` and `AnswerThenLearn` are all that there is to
    choose from; a subclass gives one of them another default or name.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Lines(mttt.Chunking):  # a step for each line of 5 tokens
        ...     size: int = eqx.field(default=5, static=True)
        ...     @property
        ...     def learns_first(self):
        ...         return True
        >>> layer = mttt.CausalTTT(16, 2, learner=mttt.AffineLearner, chunks=Lines(), key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    size: eqx.AbstractVar[int]

    def __check_init__(self):
        check_whole(most=2**24, size=self.size)

    @property
    @abc.abstractmethod
    def learns_first(self) -> bool:
        """Whether a token answers with what was learned from its own chunk so far."""


@final
class Chunks(Chunking):
    """Learn, then answer: a token's W has learned from it and from all tokens before it, and from none after.

    A chunk is one step: the gradients of all of its tokens are taken at the W before the chunk.

    Arguments:
    - size: b, the tokens of a chunk; 16 by default. 1 is the paper's T = n: every token is a step of its own

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.CausalTTT(16, 2, learner=mttt.AffineLearner, chunks=mttt.Chunks(5), key=jax.random.key(0))
        >>> x = jax.random.normal(jax.random.key(1), (10, 16))
        >>> mix = eqx.filter_jit(lambda x: layer(x).tokens)
        >>> bool(jnp.allclose(mix(x)[:7], mix(x.at[7:].set(0))[:7], atol=1e-5))  # later tokens are not seen
        True
    """

    size: int = eqx.field(default=16, static=True)

    @property
    def learns_first(self) -> bool:
        return True


@final
class AnswerThenLearn(Chunking):
    """All tokens of a chunk answer with the W before the chunk, which has learned from all chunks before it.

    For large chunks, in which the answers of a chunk are one product, such as LaCT's.

    Arguments:
    - size: b, the tokens of a chunk; 1024 by default

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> chunks = mttt.AnswerThenLearn(5)
        >>> layer = mttt.CausalTTT(16, 2, learner=mttt.SwiGLULearner, chunks=chunks, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)

    Reference: Zhang et al. (2025), *Test-Time Training Done Right*, arXiv 2505.23884.
    """

    size: int = eqx.field(default=1024, static=True)

    @property
    def learns_first(self) -> bool:
        return False


class Chunk(NamedTuple):
    """What a chunk brings: its problem's rows, what each row weighs, and what is asked.

    `log_decay` is log α of every token, None where nothing is forgotten. `full` is whether the chunk is complete: the
    weights change only then. None: it is.
    """

    inputs: Float[Array, "*chunks b k"]
    targets: PyTree[Array]
    eta: Float[Array, "*chunks b"]
    log_decay: Float[Array, "*chunks b"] | None
    queries: Float[Array, "*chunks b k"]
    full: Bool[Array, "*chunks"] | None

    def decay(self) -> tuple[Float[Array, " b"], Float[Array, "b b"]] | None:
        """What is left of W at each token, and of token s's step at token t ≥ s."""
        if self.log_decay is None:
            return None
        b = self.log_decay.shape[0]
        # Each ratio is a sum of its own. A difference of two sums from the first token on would lose, to strong decay
        # early in the chunk, the digits of mild decay after it.
        after = jnp.tril(jnp.ones((b, b), self.log_decay.dtype), -1)  # r > s
        between = jnp.cumsum(self.log_decay[:, None] * after, axis=0)
        return jnp.exp(jnp.cumsum(self.log_decay)), jnp.tril(jnp.exp(between))


class Portions(NamedTuple):
    """How much of token s's gradient is in the weights of token t, and in those after the chunk."""

    of: Float[Array, "b b"]
    after: Float[Array, " b"]
    scale: Float[Array, " b"] | None  # what is left of the chunk's first W at each token
    scale_after: Float[Array, ""] | None


def shares_of(chunk: Chunk, places: Float[Array, " b"], rate: Any = 1.0) -> Portions:
    """ρ_t η_s (α_{s+1} ⋯ α_t), for s ≤ t."""
    rate = jnp.asarray(rate, chunk.eta.dtype)  # one that is learned may be wider than the tokens
    of = jnp.tril((rate * places)[:, None] * chunk.eta[None, :])
    after, scale, scale_after = of[-1], None, None
    if (decay := chunk.decay()) is not None:
        scale, ratios = decay
        of = of * ratios
        after, scale_after = of[-1], scale[-1]
    if chunk.full is not None:
        after = jnp.where(chunk.full, after, 0)
        scale_after = None if scale_after is None else jnp.where(chunk.full, scale_after, 1)
    return Portions(of, after, scale, scale_after)
