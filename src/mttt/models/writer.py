"""Writing with a language model: read a prompt, then one token after the other, each from a state of a fixed size."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int, Integer, PRNGKeyArray

from mttt.models.lm import LM, TextState
from mttt.nn.check import check_finite, check_whole

_PIECES = (1024, 64, 1)
"""tokens of a prompt that are read at a time: whatever its length, three programs are compiled"""

COLDEST, HOTTEST = 1e-6, 1e6
"""temperatures beyond which float32 has no logits / temperature, and beyond which all tokens are alike anyway"""


class Choice(eqx.Module):
    """How the next token is chosen by its logits."""

    @abstractmethod
    def __call__(self, logits: Float[Array, " v"], key: PRNGKeyArray) -> Int[Array, ""]:
        """One token."""


class Likeliest(Choice):
    """The token that is likeliest: the same text every time."""

    def __call__(self, logits: Float[Array, " v"], key: PRNGKeyArray) -> Int[Array, ""]:
        return jnp.argmax(logits).astype(jnp.int32)


class Draw(Choice):
    """A token drawn from softmax(logits / temperature), among the `top` likeliest; None is among all."""

    temperature: float = eqx.field(static=True)
    top: int | None = eqx.field(static=True)

    def __init__(self, temperature: float = 1.0, top: int | None = None):
        check_finite(above=0.0, temperature=temperature)
        if not COLDEST <= temperature <= HOTTEST:
            raise ValueError(
                f"temperature={temperature}: expected {COLDEST:g} to {HOTTEST:g}; `Likeliest` takes the likeliest token"
            )
        if top is not None:
            check_whole(top=top)
        self.temperature, self.top = float(temperature), top

    def __call__(self, logits: Float[Array, " v"], key: PRNGKeyArray) -> Int[Array, ""]:
        if self.top is not None and self.top < logits.shape[0]:
            least = jax.lax.top_k(logits, self.top)[0][-1]
            logits = jnp.where(logits >= least, logits, -jnp.inf)
        return jax.random.categorical(key, logits / self.temperature).astype(jnp.int32)


class Written(NamedTuple):
    """A token, and how surprising it was: −log₂ of the probability that the model gave it."""

    token: int
    bits: float


class _Now(NamedTuple):
    """All that changes from token to token."""

    state: TextState
    logits: Float[Array, " v"]
    written: Int[Array, ""]


# What changes is donated: its memory is used again, so that a long cache is not copied for every token.
@eqx.filter_jit(donate="all-except-first")
def _read(fixed: tuple[LM, Integer[Array, " m"]], now: _Now) -> tuple[_Now, Float[Array, " m"]]:
    model, tokens = fixed
    logits, state = model.go_on(now.state, tokens)
    before = jax.nn.log_softmax(jnp.concatenate([now.logits[None], logits[:-1]]))
    chosen = jnp.take_along_axis(before, tokens.astype(jnp.int32)[:, None], axis=1)[:, 0]
    return _Now(state, logits[-1], now.written), _bits(chosen)


@eqx.filter_jit(donate="all-except-first")
def _write(fixed: tuple[LM, Choice, PRNGKeyArray], now: _Now) -> tuple[_Now, tuple[Int[Array, ""], Float[Array, ""]]]:
    model, choice, key = fixed
    token = choice(now.logits, jax.random.fold_in(key, now.written))
    bits = _bits(jax.nn.log_softmax(now.logits)[token])
    logits, state = model.go_on(now.state, token[None])
    return _Now(state, logits[0], now.written + 1), (token, bits)


def _bits(log_probability: Float[Array, "*n"]) -> Float[Array, "*n"]:
    return -log_probability / math.log(2)


class Writer:
    """A language model in the middle of a text. What it has read and written is in its state alone."""

    def __init__(self, model: LM, *, room: int = 0):
        """`room` is how many tokens are to come, for states that grow with them."""
        if model.most is not None and room > model.most:
            raise ValueError(
                f"{room} tokens: this model has learned positions for {model.most}, prompt and all; take fewer, or "
                "train one without positions"
            )
        self._model = model
        state = model.make_room(model.start(), room) if room else model.start()
        self._now = _Now(state, jnp.zeros(model.vocabulary), jnp.zeros((), jnp.int32))

    def read(self, tokens: Integer[np.ndarray, " n"]) -> Iterator[Float32[np.ndarray, " m"]]:
        """Read on, piece by piece: how surprising each token of a piece was, in bits.

        Before the first token of all nothing is known, and every token is as likely as another.
        """
        begin = 0
        while begin < len(tokens):
            size = next(size for size in _PIECES if size <= len(tokens) - begin)
            self._now, bits = _read((self._model, jnp.asarray(tokens[begin : begin + size])), self._now)
            begin += size
            yield np.asarray(bits, np.float32)

    @property
    def logits(self) -> Float32[np.ndarray, " v"]:
        """Of the next token."""
        return np.array(self._now.logits, np.float32)

    def write(self, choice: Choice, *, key: PRNGKeyArray) -> Iterator[Written]:
        """Tokens without end. The same key gives the same text after the same prompt."""
        fixed: Any = (self._model, choice, key)
        while True:
            self._now, (token, bits) = _write(fixed, self._now)
            yield Written(int(token), float(bits))
