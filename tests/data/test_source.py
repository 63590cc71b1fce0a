"""What is the same for sources of all kinds: holding out, names, splits, errors."""

import pickle

import numpy as np
import pytest

from mttt.data import BadExample, Subset, hold_out
from mttt.data.names import Names, printable
from mttt.data.splits import split_called, split_in


class Words:
    """A source of words, so many in each of three classes."""

    def __init__(self, count):
        self.labels = (np.arange(count) % 3).astype(np.int32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return f"word {index}"

    def name(self, index):
        return f"line {index}"


def test_holding_out_is_stratified_and_seeded():
    source = Words(90)
    train, held = hold_out(source, 0.2, seed=1)
    assert np.bincount(held.labels).tolist() == [6, 6, 6]
    assert sorted([*train.indices, *held.indices]) == list(range(90))
    assert (hold_out(source, 0.2, seed=1)[1].indices == held.indices).all()
    assert (hold_out(source, 0.2, seed=2)[1].indices != held.indices).any()
    assert Subset(held, np.array([2])).name(0) == source.name(int(held.indices[2]))
    assert held[2] == source[int(held.indices[2])]
    for fraction in (0.0, 1.0, -0.1, 1.5):
        with pytest.raises(ValueError, match=r"between 0 and 1"):
            hold_out(source, fraction)
    with pytest.raises(ValueError, match=r"leaves none to evaluate on"):
        hold_out(source, 0.01)


def test_a_bad_example_survives_the_way_from_a_worker():
    error = pickle.loads(pickle.dumps(BadExample("cat/3.jpg", "is empty")))
    assert (error.name, error.reason, str(error)) == ("cat/3.jpg", "is empty", "cat/3.jpg: is empty")


def test_names_are_kept_whole():
    names = ["a", "", "grün/ß.jpg", "bad\udcff.jpg"]
    kept = Names(names)
    assert [kept[i] for i in range(len(kept))] == names
    assert [printable(name) for name in (names[2], names[3], "a\x1b[2J\n")] == ["grün/ß.jpg", "bad�.jpg", "a�[2J�"]
    with pytest.raises(IndexError):
        kept[4]


def test_splits_are_known_by_their_names():
    assert [split_called(name) for name in ("Train", "VAL", "valid", "test", "cat")] == [
        "train",
        "validation",
        "validation",
        "test",
        None,
    ]
    files = ("train-00000-of-00005.parquet", "imagenet1k-validation-17.tar", "my_test.parquet", "trains-1.tar", "a.tar")
    assert [split_in(name) for name in files] == ["train", "validation", "test", None, None]
