"""Sequences of the task: pairs to remember, then questions about all of them."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

VOCABULARY = 512
KEYS = VOCABULARY // 2
"""tokens below are keys, the others values"""


class Questions(NamedTuple):
    """A batch: what the model is given, the tokens that answer it, and that all rows count."""

    inputs: Int[np.ndarray, "b ..."]
    answers: Int[np.ndarray, "b questions"]
    weights: Float[np.ndarray, " b"]


@runtime_checkable
class Draws(Protocol):
    """Where inputs come from."""

    def batch(self, number: int, size: int) -> Questions:
        """The batch of this number, a function of it."""
        ...


@dataclass(frozen=True)
class Recall:
    """Multi-query associative recall with P `pairs`, sequences of n = 4·P tokens:

        k₁ v₁ k₂ v₂ … k_P v_P   k_π(1) v_π(1) k_π(2) v_π(2) … k_π(P) v_π(P)

    The keys k₁ … k_P are different, drawn at random from the tokens 0 … 255; each value is drawn at random from the
    tokens 256 … 511, and may come twice. π is a random order: every key is asked for once, and its value follows it,
    as a language has it. A model is judged at the P places where a key is asked for: there the next token, the value,
    is known from the first half. By chance it would be right in 1 of 256.
    """

    pairs: int
    seed: int

    def __post_init__(self) -> None:
        if not 1 <= self.pairs <= KEYS:
            raise ValueError(f"pairs={self.pairs}: take 1 to {KEYS}, as many as there are keys")

    def batch(self, number: int, size: int) -> Questions:
        """The batch of this number: a function of it, the seed and the pairs.

        The model sees a sequence without its last token, which is only predicted.
        """
        rng = np.random.default_rng((self.seed, self.pairs, number))
        keys = rng.permuted(np.tile(np.arange(KEYS), (size, 1)), axis=1)[:, : self.pairs]
        values = rng.integers(KEYS, VOCABULARY, (size, self.pairs))
        pairs = np.stack([keys, values], axis=2)
        order = rng.permuted(np.tile(np.arange(self.pairs), (size, 1)), axis=1)
        asked = np.take_along_axis(pairs, order[:, :, None], axis=1)
        tokens = np.concatenate([pairs, asked], axis=1).reshape(size, 4 * self.pairs).astype(np.int32)
        return Questions(tokens[:, :-1], tokens[:, 2 * self.pairs + 1 :: 2], np.ones(size, np.float32))
