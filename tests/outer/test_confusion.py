"""Which classes are taken for which."""

import numpy as np

from mttt.outer import Answers, Confusion

#                      true             predicted
ANSWERS = Answers(np.array([0, 0, 0, 1, 1, 3, 3, 3, 3]), np.array([0, 2, 2, 1, 1, 0, 3, 3, 3]))


def test_answers_are_counted_by_pairs():
    found = Confusion.of(ANSWERS, 4)
    assert found.matrix().tolist() == [[1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0], [1, 0, 0, 3]]
    examples, correct = found.by_class()
    assert (examples.tolist(), correct.tolist()) == ([3, 2, 0, 4], [1, 2, 0, 3])
    assert found.worst(2) == [0, 3] and found.worst(9) == [0, 3, 1]
    assert found.most_confused(5) == [(0, 2, 2), (3, 0, 1)] and found.most_confused(1) == [(0, 2, 2)]


def test_many_classes_take_no_matrix():
    found = Confusion.of(ANSWERS, 10**9)
    assert found.most_confused(1) == [(0, 2, 2)] and len(found.examples) == 5
