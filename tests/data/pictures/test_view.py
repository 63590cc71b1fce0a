"""The digits, and pictures as a model sees them."""

import numpy as np
import pytest
from PIL import Image

from mttt.data.pictures import PictureView, load_digits, load_picture
from mttt.data.pictures.augment import CentreCrop, ResizeShortSide

FIT = (ResizeShortSide(8), CentreCrop(8))
CHECKSUM = 323068243  # of the test images, weighted by their place


def test_the_split_is_fixed_and_stratified():
    data = load_digits()
    assert (len(data.train), len(data.evaluation)) == (1437, 360)
    counts = np.bincount(data.train.labels), np.bincount(data.evaluation.labels)
    assert np.all(np.abs(counts[1] / (counts[0] + counts[1]) - 360 / 1797) < 0.01)
    assert int(np.sum(data.evaluation.images.astype(np.int64) * np.arange(1, 361)[:, None, None, None])) == CHECKSUM


def test_images_are_uint8_with_a_channel():
    train = PictureView(load_digits().train, (), (8, 8, 1))
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


@pytest.mark.parametrize(("paper", "pen"), [(255, 0), (205, 90), ((230, 220, 210), (20, 30, 120))])
def test_ink_on_paper_becomes_light_on_black_and_fills_the_picture(tmp_path, paper, pen):
    image = Image.new("RGB" if isinstance(paper, tuple) else "L", (300, 200), paper)
    image.paste(pen, (20, 100, 34, 180))  # an upright stroke, far from the middle
    image.save(tmp_path / "one.png")
    picture = load_picture(tmp_path / "one.png", FIT, (8, 8, 1), invert=True)[..., 0]
    assert (picture[1:-1, 3:5] > 130).all()  # a sixth of the height wide, so not all of two columns
    assert (picture[:, :2] == 0).all() and (picture[:, -2:] == 0).all()
    # What goes beyond the edge of the picture is paper.
    corner = Image.new("L", (100, 100), 255)
    corner.paste(0, (90, 0, 100, 50))
    corner.save(tmp_path / "corner.png")
    picture = load_picture(tmp_path / "corner.png", FIT, (8, 8, 1), invert=True)[..., 0]
    assert picture[4, 3:5].max() > 130 and picture[4, [0, 1, 6, 7]].max() == 0


@pytest.mark.parametrize("colour", [0, 128, 255])
def test_a_picture_of_one_colour_has_no_ink(tmp_path, colour):
    Image.new("L", (8, 8), colour).save(tmp_path / "plain.png")
    assert load_picture(tmp_path / "plain.png", FIT, (8, 8, 1), invert=True).max() == 0


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
