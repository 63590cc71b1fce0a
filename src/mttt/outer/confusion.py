"""Which classes a model takes for which."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int64

from mttt.outer.objective import Answers


class Confused(NamedTuple):
    """Examples of one class that are taken for another one."""

    label: int
    predicted: int
    examples: int


class Confusion(NamedTuple):
    """The answers of an evaluation by pairs of classes, those that occur. Classes are numbers here."""

    classes: int
    labels: Int64[np.ndarray, " pairs"]
    predicted: Int64[np.ndarray, " pairs"]
    examples: Int64[np.ndarray, " pairs"]
    """how many of the class `labels` are taken for the class `predicted`"""

    @classmethod
    def of(cls, answers: Answers, classes: int) -> "Confusion":
        """Count answers. Only pairs that occur are kept: there may be many thousands of classes."""
        labels, predicted = (np.asarray(part).astype(np.int64) for part in answers)
        pairs, examples = np.unique(labels * classes + predicted, return_counts=True)
        return cls(classes, pairs // classes, pairs % classes, examples.astype(np.int64))

    def matrix(self) -> Int64[np.ndarray, "classes classes"]:
        """Counts, [true class][predicted class]."""
        counts = np.zeros((self.classes, self.classes), np.int64)
        counts[self.labels, self.predicted] = self.examples
        return counts

    def by_class(self) -> tuple[Int64[np.ndarray, " classes"], Int64[np.ndarray, " classes"]]:
        """How many examples each class has, and how many of them are recognised."""
        right = self.labels == self.predicted
        count = lambda rows: np.bincount(self.labels[rows], self.examples[rows], self.classes)  # noqa: E731
        return count(slice(None)).astype(np.int64), count(right).astype(np.int64)

    def worst(self, most: int) -> list[int]:
        """The classes with the lowest accuracies, the lowest first; classes without examples have none."""
        examples, correct = self.by_class()
        there = np.flatnonzero(examples)
        order = np.lexsort((there, -examples[there], correct[there] / examples[there]))
        return there[order][:most].tolist()

    def most_confused(self, most: int) -> list[Confused]:
        """The pairs of different classes that are confused most often, the most frequent first."""
        wrong = np.flatnonzero(self.labels != self.predicted)
        order = wrong[np.argsort(-self.examples[wrong], kind="stable")][:most]
        return [Confused(*(int(part[i]) for part in (self.labels, self.predicted, self.examples))) for i in order]
