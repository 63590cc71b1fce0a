"""Batches: order, position, workers, and what cannot be used."""

import io

import numpy as np
import pytest
from PIL import Image

from mttt.data import BadExample, EvaluationBatches, training_batches
from mttt.data.pictures import PictureView, load_digits
from mttt.data.pictures.augment import RandomCrop, RandomFlip, Resize
from mttt.data.pictures.encoded import Encoded


def digits():
    """The digits as the preset sees them."""
    splits = load_digits()
    return PictureView(splits.train, (), (8, 8, 1)), PictureView(splits.evaluation, (), (8, 8, 1))


def test_an_epoch_has_every_image_once_and_epochs_differ():
    train, _ = digits()
    batches = training_batches(train, 1437, seed=0)
    epochs = [next(batches) for _ in range(2)]
    everything = np.sort(train.source.images.reshape(1437, -1).sum(axis=1))
    for batch in epochs:
        np.testing.assert_array_equal(np.sort(np.asarray(batch.inputs, int).reshape(1437, -1).sum(axis=1)), everything)
    assert (epochs[0].labels != epochs[1].labels).any()


VARIED = (Resize(10), RandomCrop(8, padding=2), RandomFlip())


def same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_position_is_resumed_exactly():
    train = PictureView(load_digits().train, VARIED, (8, 8, 1))
    batches = training_batches(train, 100, seed=3)
    for _ in range(17):
        next(batches)
    position = batches.get_state()
    ahead = [next(batches) for _ in range(5)]
    again = training_batches(train, 100, seed=3)
    next(again)
    again.set_state(position)
    for one in ahead:
        same(one, next(again))
    other_seed = next(training_batches(train, 100, seed=4))
    assert (other_seed.labels != next(training_batches(train, 100, seed=3)).labels).any()


def test_workers_and_processes_make_the_same_batches():
    """Any number of workers, and each process its own rows."""
    train = PictureView(load_digits().train, VARIED, (8, 8, 1))
    with training_batches(train, 24, seed=5) as alone, training_batches(train, 24, seed=5, workers=2) as together:
        parts = [training_batches(train, 24, seed=5, rows=range(8 * i, 8 * i + 8)) for i in range(3)]
        for _ in range(7):
            batch = next(alone)
            same(batch, next(together))
            rows = [next(part) for part in parts]
            same(batch, [np.concatenate(columns) for columns in zip(*rows, strict=True)])
    assert (np.asarray(batch.inputs) != np.asarray(next(training_batches(train, 24, seed=5)).inputs)).any()
    with pytest.raises(ValueError, match="has the rows 0 to 23"):
        training_batches(train, 24, seed=5, rows=range(20, 25))


def test_evaluation_sees_every_image_once_in_batches_of_one_shape():
    _, test = digits()
    batches = list(EvaluationBatches(test, 100))
    assert [len(batch.labels) for batch in batches] == [100] * 4
    assert sum(batch.weights.sum() for batch in batches) == 360
    labels = np.concatenate([batch.labels[batch.weights > 0] for batch in batches])
    np.testing.assert_array_equal(labels, test.source.labels)
    same(batches[0].inputs, test.source.images[:100])


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(ValueError, match="there are 1437 training examples"):
        training_batches(digits()[0], 2000, seed=0)


class Broken(Encoded):
    """Twelve images; every third cannot be read, or all."""

    def __init__(self, all_of_them: bool = False):
        self.labels = np.arange(12, dtype=np.int32)
        self.all = all_of_them

    def read(self, index: int) -> bytes:
        image = Image.new("L", (8, 8), 20 * index)
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        return b"no image" if self.all or index % 3 == 0 else buffer.getvalue()

    def name(self, index: int) -> str:
        return f"number {index}"


def test_an_image_that_cannot_be_used_stops_or_is_skipped_and_named():
    stop, skip = (PictureView(Broken(), (), (8, 8, 1), on_error) for on_error in ("stop", "skip"))
    with pytest.raises(BadExample, match=r"number \d+: is text, not an image"):
        next(training_batches(stop, 12, seed=0))
    with pytest.raises(BadExample, match="number 0: is text"):
        list(EvaluationBatches(stop, 5))
    batches = training_batches(skip, 12, seed=0)
    batch = next(batches)
    assert sorted(name for name, _ in batches.skipped) == ["number 0", "number 3", "number 6", "number 9"]
    used = np.asarray(batch.weights) > 0
    assert sorted(np.asarray(batch.labels)[used]) == [1, 2, 4, 5, 7, 8, 10, 11]
    values = np.asarray(batch.inputs)[:, 0, 0, 0]
    np.testing.assert_array_equal(values, 20 * np.asarray(batch.labels))  # a filler repeats an image with its label
    evaluation = EvaluationBatches(skip, 5)
    assert sum(batch.weights.sum() for batch in evaluation) == 8
    assert [name for name, _ in evaluation.skipped] == ["number 0", "number 3", "number 6", "number 9"]
    nothing = next(training_batches(PictureView(Broken(True), (), (8, 8, 1), "skip"), 4, seed=0))
    assert np.asarray(nothing.weights).tolist() == [0, 0, 0, 0]
