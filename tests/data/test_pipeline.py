"""The digits, and the batches made of them."""

import io

import numpy as np
import pytest
from PIL import Image

from mttt.data import BadExample, EvaluationBatches, training_batches
from mttt.data.pictures import PictureView, load_digits, load_picture
from mttt.data.pictures.augment import CentreCrop, RandomCrop, RandomFlip, Resize, ResizeShortSide
from mttt.data.pictures.encoded import Encoded

FIT = (ResizeShortSide(8), CentreCrop(8))
CHECKSUM = 323068243  # of the test images, weighted by their place


def test_the_split_is_fixed_and_stratified():
    data = load_digits()
    assert (len(data.train), len(data.evaluation)) == (1437, 360)
    counts = np.bincount(data.train.labels), np.bincount(data.evaluation.labels)
    assert np.all(np.abs(counts[1] / (counts[0] + counts[1]) - 360 / 1797) < 0.01)
    assert int(np.sum(data.evaluation.images.astype(np.int64) * np.arange(1, 361)[:, None, None, None])) == CHECKSUM


def digits(**options):
    """The digits as the preset sees them."""
    splits = load_digits(**options)
    return PictureView(splits.train, (), (8, 8, 1)), PictureView(splits.evaluation, (), (8, 8, 1))


def test_images_are_uint8_with_a_channel():
    train, _ = digits()
    image, label = train.example(0, np.random.default_rng(0))
    assert image.shape == (8, 8, 1)
    assert image.dtype == np.uint8
    np.testing.assert_array_equal(image, train.source.images[0])
    assert train.source.images.max() == 255
    assert label == train.source.labels[0]


def test_held_out_images_come_from_the_training_images():
    data = load_digits(holdout=0.2)
    assert len(data.train) + len(data.evaluation) == 1437
    assert abs(len(data.evaluation) - 287) < 6
    assert set(data.train.indices).isdisjoint(data.evaluation.indices)
    assert np.bincount(data.evaluation.labels).min() > 25
    assert (load_digits(holdout=0.2).evaluation.indices == data.evaluation.indices).all()


def test_holding_out_nothing_is_refused():
    with pytest.raises(ValueError, match="leaves none to evaluate on"):
        load_digits(holdout=0.001)


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
        parts = [training_batches(train, 24, seed=5, process=(i, 3)) for i in range(3)]
        for _ in range(7):
            batch = next(alone)
            same(batch, next(together))
            rows = [next(part) for part in parts]
            same(batch, [np.concatenate(columns) for columns in zip(*rows, strict=True)])
    assert (np.asarray(batch.inputs) != np.asarray(next(training_batches(train, 24, seed=5)).inputs)).any()
    with pytest.raises(ValueError, match="must share a batch of 24 evenly"):
        training_batches(train, 24, seed=5, process=(0, 5))


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


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "1", "I;16", "CMYK"])
@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_of_all_kinds_are_read(tmp_path, mode, channels):
    path = tmp_path / ("picture.tif" if mode in ("I;16", "CMYK") else "picture.png")
    Image.new(mode, (30, 20), 1).save(path)
    assert load_picture(path, FIT, (8, 8, channels)).shape == (8, 8, channels)


def test_deep_and_transparent_pictures_keep_what_they_show(tmp_path):
    deep = np.full((8, 8), 65535, np.uint16)
    deep[:4] = 65535 // 4
    Image.fromarray(deep).save(tmp_path / "deep.png")
    picture = load_picture(tmp_path / "deep.png", FIT, (8, 8, 1))[..., 0]
    assert (picture[0] == 63).all()
    assert (picture[-1] == 255).all()
    ink = np.zeros((8, 8, 4), np.uint8)
    ink[:4, :, 3] = 255
    Image.fromarray(ink).save(tmp_path / "ink.png")
    picture = load_picture(tmp_path / "ink.png", FIT, (8, 8, 1))[..., 0]
    assert (picture[0] == 0).all()
    assert (picture[-1] == 255).all()


def test_a_dark_on_light_picture_can_be_inverted(tmp_path):
    Image.new("L", (8, 8), 255).save(tmp_path / "white.png")
    assert load_picture(tmp_path / "white.png", FIT, (8, 8, 1), invert=True).max() == 0


def test_what_is_no_picture_is_refused(tmp_path):
    (tmp_path / "text.png").write_text("not an image")
    good = tmp_path / "good.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), np.uint8)).save(good)
    (tmp_path / "cut.png").write_bytes(good.read_bytes()[:500])
    for name, reason in [("text.png", "is text"), ("none.png", "does not exist"), ("cut.png", "cannot be read")]:
        with pytest.raises(ValueError, match=f"{name}.*{reason}"):
            load_picture(tmp_path / name, FIT, (8, 8, 1))
    with pytest.raises(ValueError, match="is a directory"):
        load_picture(tmp_path, FIT, (8, 8, 1))
