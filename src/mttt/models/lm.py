"""A language model around any causal mixer: bytes in, the next byte out."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Integer, PRNGKeyArray

from mttt.mixers import CausalMixer
from mttt.models.places import LearnedPlaces, NoPlaces
from mttt.models.stack import MakeMixer, Stack
from mttt.models.vit import Size, Traced
from mttt.nn import LayerNorm
from mttt.nn.check import check_array, check_key, check_whole
from mttt.nn.dense import at_least_float32

small_normal = jax.nn.initializers.normal(0.02)


@runtime_checkable
class MakePlaces(Protocol):
    """Draws what tells the places of a sequence apart; the classes are their own makers, but for a context."""

    def __call__(self, dim: int, *, key: PRNGKeyArray) -> NoPlaces | LearnedPlaces: ...


class TokenTable(eqx.Module):
    """A vector for each token: the embedding, and the kernel of the logits, too (GPT-2 ties them)."""

    weight: Float[Array, "v d"]

    def __init__(self, vocabulary: int, dim: int, *, key: PRNGKeyArray, kernel_init: Any = small_normal):
        self.weight = kernel_init(key, (vocabulary, dim))

    def embed(self, tokens: Integer[Array, " n"]) -> Float[Array, "n d"]:
        """The vectors of tokens; NaN for one that is not in the vocabulary."""
        return self.weight.at[tokens].get(mode="fill", fill_value=jnp.nan)

    def logits(self, features: Float[Array, "n d"]) -> Float[Array, "n v"]:
        """How well the features fit the vector of every token."""
        return features @ self.weight.astype(features.dtype).T


class TextState(NamedTuple):
    """What the tokens so far leave behind in an `LM`: `model.start()` makes it, `model.go_on` moves it on.

    Fields:
    - stack: the states of the mixers of all blocks, stacked along depth
    - place: how many tokens there were, a whole number ()

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> size = mttt.Size(16, 2, 2)
        >>> model = mttt.LM(vocabulary=32, size=size, mixer=mttt.CausalLinearAttention, key=jax.random.key(0))
        >>> logits, state = eqx.filter_jit(model.go_on)(model.start(), jnp.arange(6))
        >>> type(state).__name__, int(state.place)
        ('TextState', 6)
    """

    stack: Any
    place: Int[Array, ""]


class LM(eqx.Module):
    """A language model around any causal mixer: embedding, pre-LN blocks, final LN, and logits of the next token.

    It is called as `model(tokens, *, key=None)` with one input of whole numbers (n,) and returns logits (n,
    vocabulary): those at place t are of token t + 1, and depend on the tokens 0 … t. The logits use the table that
    embeds. `start`, `go_on` and `make_room` read a sequence piece by piece. Parameters, statistics, inner loops and
    logits are float32.

    Arguments:
    - vocabulary: how many tokens there are; 256 by default, the bytes
    - size: width, number of blocks and heads: `TINY`, `SMALL`, or a `Size`
    - mixer: makes the causal mixer of each block, as `mixer(dim, heads, key=key)`
    - places: makes what tells places apart, as `places(dim, key=key)`; `NoPlaces` by default, or
      `partial(LearnedPlaces, context=n)`
    - embed_init: draws the table (vocabulary, d); from N(0, 0.02²) by default
    - remat: whether each block is recomputed in the backward pass: less memory for more time. False by default
    - dtype: of computation; that of the parameters by default
    - key: random key for all parameters

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> size, tokens = mttt.Size(16, 2, 2), jnp.arange(10)
        >>> model = mttt.LM(vocabulary=32, size=size, mixer=mttt.CausalLinearAttention, key=jax.random.key(0))
        >>> logits, state = eqx.filter_jit(model.go_on)(model.start(), tokens[:6])
        >>> logits.shape, eqx.filter_jit(model)(tokens).shape
        ((6, 32), (10, 32))

    Reference: Radford et al. (2019), *Language Models are Unsupervised Multitask Learners* (GPT-2).
    """

    embed: TokenTable
    places: NoPlaces | LearnedPlaces
    stack: Stack
    norm: LayerNorm
    dtype: Any = eqx.field(static=True)

    def __init__(
        self,
        *,
        vocabulary: int = 256,
        size: Size,
        mixer: MakeMixer,
        places: MakePlaces = NoPlaces,
        embed_init: jax.nn.initializers.Initializer = small_normal,
        remat: bool = False,
        dtype: Any = None,
        key: PRNGKeyArray,
    ):
        dim, depth, heads = size
        check_whole(vocabulary=vocabulary, dim=dim, depth=depth, heads=heads)
        check_key(key)
        embed_key, place_key, blocks_key = jax.random.split(key, 3)
        self.embed = TokenTable(vocabulary, dim, key=embed_key, kernel_init=embed_init)
        self.places = places(dim, key=place_key)
        self.stack = Stack(dim, depth, heads, mixer=mixer, remat=remat, key=blocks_key)
        if not isinstance(self.stack.blocks.mixer, CausalMixer):
            name = type(self.stack.blocks.mixer).__name__
            raise TypeError(
                f"mixer={name}: in a language model a token must not see those after it; take a CausalMixer"
            )
        self.norm = LayerNorm(dim)
        self.dtype = None if dtype is None else jnp.dtype(dtype)

    def __call__(self, tokens: Integer[Array, "..."], *, key: PRNGKeyArray | None = None) -> Float[Array, "n v"]:
        """Logits (n, vocabulary) of the token after each of tokens (n,).

        With a key, what is random in the inner loops is random.
        """
        return self._run(tokens, key, trace=False).logits

    def trace(self, tokens: Integer[Array, "..."], *, key: PRNGKeyArray | None = None) -> Traced:
        """Logits, and the inner losses of all layers, for tokens (n,)."""
        return self._run(tokens, key, trace=True)

    def start(self) -> TextState:
        """The state before the first token."""
        dtype = self.dtype or self.embed.weight.dtype
        return TextState(self.stack.start(dtype), jnp.zeros((), jnp.int32))

    def go_on(self, state: TextState, tokens: Integer[Array, "..."]) -> tuple[Float[Array, "m v"], TextState]:
        """Logits after each of the next tokens (m,) of the sequence that the state has seen; and the next state."""
        if not isinstance(state, TextState):
            raise TypeError(
                f"a state of type {type(state).__name__}; expected the TextState of this model: begin with start(), "
                "and give go_on the state that it returned last"
            )
        embedded, stack = self.stack.go_on(state.stack, self._embed(tokens, state.place))
        return self._logits(embedded), TextState(stack, state.place + tokens.shape[0])

    def make_room(self, state: TextState, count: int) -> TextState:
        """A state that can take `count` more tokens. Only one that grows with the tokens has to be made larger."""
        return TextState(self.stack.make_room(state.stack, count), state.place)

    @property
    def vocabulary(self) -> int:
        """How many tokens there are to choose from."""
        return self.embed.weight.shape[0]

    @property
    def depth(self) -> int:
        """How many blocks there are."""
        return self.stack.depth

    @property
    def most(self) -> int | None:
        """How long a sequence may be; None is without end."""
        return self.places.most

    def _run(self, tokens: Integer[Array, "..."], key: PRNGKeyArray | None, trace: bool) -> Traced:
        embedded, losses = self.stack(self._embed(tokens, 0), key=key, trace=trace)
        return Traced(self._logits(embedded), losses)

    def _embed(self, tokens: Integer[Array, "..."], first: int | Int[Array, ""]) -> Float[Array, "n d"]:
        check_array("tokens", tokens)
        if tokens.ndim != 1 or not tokens.shape[0]:
            batched = " For a batch of inputs, use jax.vmap" if tokens.ndim == 2 else ""
            raise ValueError(f"tokens of shape {tokens.shape}: expected one input of n tokens, (n,).{batched}")
        if not jnp.issubdtype(tokens.dtype, jnp.integer):
            raise ValueError(f"tokens of dtype {tokens.dtype}: expected whole numbers below {self.vocabulary}")
        embedded = self.places(self.embed.embed(tokens), first)
        return embedded if self.dtype is None else embedded.astype(self.dtype)

    def _logits(self, embedded: Float[Array, "n d"]) -> Float[Array, "n v"]:
        return self.embed.logits(at_least_float32(self.norm(embedded)))
