"""Sets of the task: pairs to remember and questions about some of them, in one input without an order."""

from dataclasses import dataclass

import numpy as np

from mttt.studies.recall.sequences import Questions

VOCABULARY = 256
"""keys there are, and values; both are numbers from 0"""
ASKED = VOCABULARY
"""stands in the place of a value that is asked for"""


@dataclass(frozen=True)
class SetRecall:
    """Associative recall in a set of P `pairs`: n = P + ⌈P/2⌉ tokens, each of which carries two things:

        (k₁, v₁) (k₂, v₂) … (k_P, v_P)   (k_π(1), ?) … (k_π(⌈P/2⌉), ?)

    The keys k₁ … k_P are different, the values are drawn at random and may come twice. Half of the keys are asked for,
    each in a token of its own; a model is judged at these tokens. No token has to look at its neighbours, and no order
    tells anything, so what is left to the mixer is to remember. By chance a model would be right in 1 of 256, and in
    1 of P if it knows which values are there.
    """

    pairs: int
    seed: int

    def __post_init__(self) -> None:
        if not 1 <= self.pairs <= VOCABULARY:
            raise ValueError(f"pairs={self.pairs}: take 1 to {VOCABULARY}, as many as there are keys")

    @property
    def questions(self) -> int:
        """How many keys are asked for."""
        return -(-self.pairs // 2)

    def batch(self, number: int, size: int) -> Questions:
        """The batch of this number: a function of it, the seed and the pairs. Inputs are (size, n, 2)."""
        rng = np.random.default_rng((self.seed, self.pairs, number))
        keys = rng.permuted(np.tile(np.arange(VOCABULARY), (size, 1)), axis=1)[:, : self.pairs]
        values = rng.integers(0, VOCABULARY, (size, self.pairs))
        order = rng.permuted(np.tile(np.arange(self.pairs), (size, 1)), axis=1)[:, : self.questions]
        asked, answers = (np.take_along_axis(each, order, axis=1) for each in (keys, values))
        told, open_ = np.stack([keys, values], axis=2), np.stack([asked, np.full_like(asked, ASKED)], axis=2)
        inputs = np.concatenate([told, open_], axis=1).astype(np.int32)
        return Questions(inputs, answers.astype(np.int32), np.ones(size, np.float32))
