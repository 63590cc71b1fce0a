"""A kind of data that has nothing to do with pictures goes through the same pipeline."""

import jax
import numpy as np
import pytest

from mttt.data import BadExample, DataSet, EvaluationBatches, Example, Spec, View, describe, training_batches

LENGTH = 4
INPUTS = {"tokens": jax.ShapeDtypeStruct((LENGTH,), np.int32), "mask": jax.ShapeDtypeStruct((LENGTH,), np.bool_)}


class Sentences:
    """Sentence i has the tokens i, i, …"""

    def __init__(self, count):
        self.labels = (np.arange(count) % 2).astype(np.int32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return [index] * (1 + index % LENGTH)

    def name(self, index):
        return f"line {index}"


class SentenceView:
    """Two arrays for each example: tokens, padded, and a mask of those that are real."""

    def __init__(self, count, on_error="stop", broken=(5,)):
        self.source, self.inputs = Sentences(count), INPUTS
        self.on_error, self.broken = on_error, broken

    def __len__(self):
        return len(self.source)

    def example(self, index, rng):
        if index in self.broken:
            return BadExample(self.source.name(index), "is empty")
        words = self.source[index]
        tokens = np.array(words + [-1] * (LENGTH - len(words)), np.int32)
        return Example({"tokens": tokens, "mask": tokens >= 0}, int(self.source.labels[index]))


def check(batch, count):
    """Every row belongs together, whoever it is, and has the shapes and dtypes that the view says."""
    for name, struct in INPUTS.items():
        assert batch.inputs[name].shape == (count, *struct.shape)
        assert batch.inputs[name].dtype == struct.dtype
    used = np.asarray(batch.weights) > 0
    tokens, mask = (np.asarray(batch.inputs[name])[used] for name in ("tokens", "mask"))
    numbers = tokens[:, 0]
    np.testing.assert_array_equal(mask, np.arange(LENGTH) <= numbers[:, None] % LENGTH)
    np.testing.assert_array_equal(tokens, np.where(mask, numbers[:, None], -1))
    np.testing.assert_array_equal(np.asarray(batch.labels)[used], numbers % 2)
    return numbers.tolist()


@pytest.mark.parametrize("workers", [0, 1])
def test_training_batches_are_pytrees(workers):
    view = SentenceView(12, "skip")
    assert isinstance(view, View)
    with training_batches(view, 6, seed=0, workers=workers) as batches:
        seen, skipped = [], []
        for _ in range(2):
            seen += check(next(batches), 6)
            skipped += batches.skipped
    assert sorted(seen) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert skipped == [("line 5", "is empty")]


def test_evaluation_batches_are_pytrees_of_one_shape():
    batches = EvaluationBatches(SentenceView(12, "skip"), 5)
    assert [number for batch in batches for number in check(batch, 5)] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert batches.skipped == [("line 5", "is empty")]
    with pytest.raises(BadExample, match="line 5: is empty"):
        list(EvaluationBatches(SentenceView(12), 5))


def test_a_batch_of_which_nothing_can_be_used_has_the_shape_of_the_others():
    (batch,) = EvaluationBatches(SentenceView(3, "skip", broken=(0, 1, 2)), 3)
    assert check(batch, 3) == []


def test_the_record_of_a_run_gives_the_spec_back():
    data = DataSet(SentenceView(12), SentenceView(6), ("even", "odd"), "test")
    record = describe(data)
    assert Spec.from_json(record["spec"]) == data.spec == Spec(INPUTS, ("even", "odd"))
    assert (record["train"]["examples"], record["evaluation"]["examples"]) == (12, 6)
    relabelled = DataSet(SentenceView(12), SentenceView(6), ("even", "odd"), "test")
    relabelled.train.source.labels[3] = 0
    assert describe(relabelled)["train"] != record["train"]
    assert describe(relabelled)["evaluation"] == record["evaluation"]
