"""Pictures of two digits: what is on them, and that they are a function of index and seed."""

import numpy as np
import pytest

from mttt.data.pictures.digits import Digits
from mttt.data.pictures.pairs import CELL, Pairs, load_pairs
from mttt.fields import FieldError
from mttt.recipes.data import PairsRecipe

FEW = range(200)


def corners(pairs, index):
    canvas = np.asarray(pairs[index].image)
    return canvas[:CELL, :CELL], canvas[-CELL:, -CELL:]


def known(test):
    digits = Digits(test=test)
    found = {}
    for image, label in zip(digits.images[..., 0], digits.labels, strict=True):
        found.setdefault(image.tobytes(), set()).add(int(label))
    return found


@pytest.mark.parametrize("test", [False, True])
def test_the_label_says_whether_the_digits_are_the_same(test):
    pairs, classes = Pairs(16, test=test, seed=3), known(test)
    for index in FEW:
        first, second = (classes[corner.tobytes()] for corner in corners(pairs, index))
        assert pairs[index].label == index % 2 == bool(first & second)
    assert {label for index in FEW for label in classes[corners(pairs, index)[0].tobytes()]} == set(range(10))


def test_a_digit_is_not_beside_itself():
    pairs = Pairs(16, test=True, seed=0)
    assert not any(np.array_equal(*corners(pairs, index)) for index in range(1, 2000, 2))


def test_digits_to_test_with_are_in_no_picture_that_is_trained_on():
    splits = load_pairs(24, seed=1)
    assert not known(True).keys() & known(False).keys()
    assert {corner.tobytes() for index in FEW for corner in corners(splits.train, index)} <= known(False).keys()
    assert {corner.tobytes() for index in FEW for corner in corners(splits.evaluation, index)} <= known(True).keys()


def test_a_picture_is_a_function_of_its_index_and_the_seed():
    pairs, again, other = (Pairs(20, test=False, seed=seed) for seed in (5, 5, 6))
    assert all(pairs.read(index) == again.read(index) for index in reversed(FEW))
    assert any(pairs.read(index) != other.read(index) for index in FEW)
    canvas = np.asarray(pairs[0].image)
    assert canvas.shape == (20, 20) and not canvas[CELL:-CELL].any() and not canvas[:CELL, CELL:].any()


def test_digits_need_room():
    with pytest.raises(ValueError, match="side=15: take 16 or more"):
        Pairs(15, test=False, seed=0)
    with pytest.raises(FieldError, match="16 or more, twice the side of a digit"):
        PairsRecipe(size=15)
