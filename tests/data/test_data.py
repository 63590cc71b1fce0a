"""The digits, and the batches made of them."""

import numpy as np
import pytest
from PIL import Image

from mttt.data import evaluation_batches, load_digits, training_batches
from mttt.data.picture import load_picture
from mttt.data.pipeline import _collate

CHECKSUM = 323068243  # of the test images, weighted by their place


def test_the_split_is_fixed_and_stratified():
    data = load_digits()
    assert (len(data.train), len(data.evaluation)) == (1437, 360)
    counts = np.bincount(data.train.labels), np.bincount(data.evaluation.labels)
    assert np.all(np.abs(counts[1] / (counts[0] + counts[1]) - 360 / 1797) < 0.01)
    assert int(np.sum(data.evaluation.images.astype(np.int64) * np.arange(1, 361)[:, None, None, None])) == CHECKSUM


def test_images_are_uint8_with_a_channel():
    image, label = load_digits().train[0]
    assert image.shape == (8, 8, 1)
    assert image.dtype == np.uint8
    assert load_digits().train.images.max() == 255
    assert 0 <= label < 10


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
    train = load_digits().train
    batches = training_batches(train, 1437, seed=0)
    epochs = [next(batches) for _ in range(2)]
    everything = np.sort(train.images.reshape(1437, -1).sum(axis=1))
    for batch in epochs:
        np.testing.assert_array_equal(np.sort(batch.images.reshape(1437, -1).sum(axis=1)), everything)
    assert (epochs[0].labels != epochs[1].labels).any()


def test_position_is_resumed_exactly():
    train = load_digits().train
    batches = training_batches(train, 100, seed=3)
    for _ in range(17):
        next(batches)
    position = batches.get_state()
    ahead = [next(batches) for _ in range(5)]
    again = training_batches(train, 100, seed=3)
    again.set_state(position)
    for one, other in zip(ahead, [next(again) for _ in range(5)], strict=True):
        np.testing.assert_array_equal(one.images, other.images)
    other_seed = next(training_batches(train, 100, seed=4))
    assert (other_seed.labels != next(training_batches(train, 100, seed=3)).labels).any()


def test_evaluation_sees_every_image_once_in_batches_of_one_shape():
    test = load_digits().evaluation
    batches = list(evaluation_batches(test, 100))
    assert [len(batch.labels) for batch in batches] == [100] * 4
    assert sum(batch.weights.sum() for batch in batches) == 360
    labels = np.concatenate([batch.labels[batch.weights > 0] for batch in batches])
    np.testing.assert_array_equal(labels, test.labels)


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(ValueError, match="there are 1437 training images"):
        training_batches(load_digits().train, 2000, seed=0)


def test_collate_keeps_rows_together():
    train = load_digits().train
    batch = _collate([train[3], train[5]])
    np.testing.assert_array_equal(batch.images[1], train[5].image)
    assert batch.labels.tolist() == [train[3].label, train[5].label]


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "1", "I;16", "CMYK"])
@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_of_all_kinds_are_read(tmp_path, mode, channels):
    path = tmp_path / ("picture.tif" if mode in ("I;16", "CMYK") else "picture.png")
    Image.new(mode, (30, 20), 1).save(path)
    assert load_picture(path, (8, 6, channels)).shape == (8, 6, channels)


def test_deep_and_transparent_pictures_keep_what_they_show(tmp_path):
    deep = np.full((8, 8), 65535, np.uint16)
    deep[:4] = 65535 // 4
    Image.fromarray(deep).save(tmp_path / "deep.png")
    picture = load_picture(tmp_path / "deep.png", (8, 8, 1))[..., 0]
    assert (picture[0] == 63).all()
    assert (picture[-1] == 255).all()
    ink = np.zeros((8, 8, 4), np.uint8)
    ink[:4, :, 3] = 255
    Image.fromarray(ink).save(tmp_path / "ink.png")
    picture = load_picture(tmp_path / "ink.png", (8, 8, 1))[..., 0]
    assert (picture[0] == 0).all()
    assert (picture[-1] == 255).all()


def test_a_dark_on_light_picture_can_be_inverted(tmp_path):
    Image.new("L", (8, 8), 255).save(tmp_path / "white.png")
    assert load_picture(tmp_path / "white.png", (8, 8, 1), invert=True).max() == 0


def test_what_is_no_picture_is_refused(tmp_path):
    (tmp_path / "text.png").write_text("not an image")
    good = tmp_path / "good.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), np.uint8)).save(good)
    (tmp_path / "cut.png").write_bytes(good.read_bytes()[:500])
    for name, reason in [("text.png", "not an image"), ("none.png", "does not exist"), ("cut.png", "cannot be read")]:
        with pytest.raises(ValueError, match=f"{name}.*{reason}"):
            load_picture(tmp_path / name, (8, 8, 1))
    with pytest.raises(ValueError, match="is a directory"):
        load_picture(tmp_path, (8, 8, 1))
