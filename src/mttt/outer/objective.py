"""The objective ℒ_T: how well a model predicts after T steps of learning at test time."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree


class Score(eqx.Module):
    """Sums over the rows of a batch, and how much they weigh in all."""

    loss: Float[Array, ""]
    correct: Float[Array, ""]
    count: Float[Array, ""]


class Answers(NamedTuple):
    """What every row is, and what the model takes it for."""

    labels: Int[Array | np.ndarray, " b"]
    predicted: Int[Array | np.ndarray, " b"]


class Judged(NamedTuple):
    """A batch in evaluation: its score; inner losses, answers and losses by position of every row."""

    score: Score
    losses: Float[Array, "b depth heads steps"] | None
    """None for a model without an inner loop"""
    answers: Answers | None = None
    """None where there are no classes"""
    by_position: Float[Array, "b n"] | None = None
    """the loss of every row at every place, where something is predicted at every place"""


class Objective(eqx.Module):
    """What the outer loop makes small. It knows what the rows of a batch mean; a rule does not.

    A rule calls `prepare` once, with the whole batch, then `__call__` as often as it likes, with all rows or a part of
    them, and every time with the same key: what is random is the same for all these calls.
    """

    @abstractmethod
    def prepare(self, batch: Any, *, key: PRNGKeyArray) -> PyTree:
        """Rows to learn from, a pytree whose leaves have the batch's leading axis. Rows may be changed and paired."""

    @abstractmethod
    def count(self, rows: Any) -> Float[Array, ""]:
        """How much the rows weigh in all. A loss divided by it is a mean."""

    @abstractmethod
    def __call__(self, model: Any, rows: Any, *, key: PRNGKeyArray | None) -> Score:
        """How well a model predicts the rows that `prepare` made."""

    @abstractmethod
    def measure(self, model: Any, batch: Any) -> Judged:
        """How well a model predicts a batch as it is: nothing is drawn."""
