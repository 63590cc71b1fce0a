"""Crops, sizes, flips and lists of transforms, each against its definition."""

import numpy as np
import pytest
from PIL import Image

from data.pictures.drawing import gradient, jpeg, picture, rng, values
from mttt.data.errors import BadExample
from mttt.data.pictures.augment import (
    CentreCrop,
    InceptionCrop,
    RandAugment,
    RandomCrop,
    RandomFlip,
    Resize,
    ResizeShortSide,
    apply,
)
from mttt.data.pictures.augment.resize import scaled


def test_boxes_of_the_inception_crop_are_uniform_in_aspect_and_height():
    crop, random = InceptionCrop(8), rng()
    boxes = np.array([crop.box(400, 300, random) for _ in range(4000)])
    columns, rows = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    assert boxes.min() >= 0
    assert boxes[:, 2].max() == 400
    assert boxes[:, 3].max() == 300
    areas, aspects = columns * rows / (400 * 300), columns / rows
    assert 0.049 < areas.min() < 0.055
    assert 0.95 < areas.max() <= 1
    assert 0.73 < aspects.min() < 0.76
    assert 1.32 < aspects.max() < 1.36
    quarters = np.histogram(aspects, np.linspace(3 / 4, 4 / 3, 5))[0]
    assert abs(quarters / 1000 - 1).max() < 0.12
    tall = np.abs(aspects - 1) < 0.05  # heights from √(5 % · 120000) = 77 to all 300
    halves = np.histogram(rows[tall], [77, 188, 300])[0]
    assert abs(halves[0] / halves[1] - 1) < 0.25
    place = boxes[:, 0] / np.maximum(1, 400 - columns)
    assert abs(place.mean() - 0.5) < 0.02
    assert {0, 1} <= set(place)


def test_a_panorama_has_no_box_and_is_taken_whole():
    assert InceptionCrop(8).box(20_000, 100, rng()) == (0, 0, 20_000, 100)


def test_boxes_of_a_tall_picture_are_inside():
    random = rng()
    boxes = np.array([InceptionCrop(8).box(100, 300, random) for _ in range(500)])
    assert boxes.min() >= 0
    assert (boxes[:, 2].max(), boxes[:, 3].max()) == (100, 300)


def test_bounds_of_area_and_aspect_are_obeyed():
    crop = InceptionCrop(8, area=(0.25, 0.25), aspect=(1.0, 1.0))
    boxes = np.array([crop.box(100, 100, rng(seed)) for seed in range(20)])
    assert (boxes[:, 2:] - boxes[:, :2] == 50).all()


def test_the_inception_crop_shows_its_box():
    """A gradient stays a gradient: the corners tell the box."""
    crop = InceptionCrop(50)
    box = crop.box(250, 200, rng(3))
    seen = values(crop(Image.fromarray(gradient(200, 250)), rng(3)))
    assert seen.shape == (50, 50, 3)
    step = (box[2] - box[0]) / 50, (box[3] - box[1]) / 50
    np.testing.assert_allclose(seen[25, :, 0], box[0] - 0.5 + step[0] * (np.arange(50) + 0.5), atol=1.01)
    np.testing.assert_allclose(seen[:, 25, 1], box[1] - 0.5 + step[1] * (np.arange(50) + 0.5), atol=1.01)


@pytest.mark.parametrize(("size", "decoded"), [(130, 256), (128, 128), (64, 64), (33, 64), (32, 32), (8, 32)])
def test_a_jpeg_is_decoded_no_larger_than_needed_and_no_smaller_than_wanted(size, decoded):
    array = gradient(256, 256)
    image = jpeg(array)
    seen = scaled(image, (size, size))
    assert image.size == (decoded, decoded)
    exact = scaled(Image.fromarray(array), (size, size))
    assert np.abs(values(seen) - values(exact)).mean() < 3


def test_a_box_of_a_jpeg_is_the_same_box_when_decoded_small():
    array = gradient(203, 251)  # odd, so that the small size is rounded
    image = jpeg(array)
    seen = scaled(image, (40, 40), (60, 20, 240, 200))
    assert image.size == (63, 51)
    exact = scaled(Image.fromarray(array), (40, 40), (60, 20, 240, 200))
    assert np.abs(values(seen) - values(exact)).mean() < 3
    decoded = jpeg(array)
    decoded.load()
    again = scaled(decoded, (40, 40), (60, 20, 240, 200))
    assert decoded.size == (251, 203)
    assert np.abs(values(again) - values(exact)).mean() < 3


def test_a_box_of_the_wanted_size_is_cut_exactly():
    image = picture(40, 50)
    np.testing.assert_array_equal(values(scaled(image, (10, 12), (5, 7, 15, 19))), values(image)[7:19, 5:15])


def test_shrinking_averages():
    image = picture(16, 16, channels=1)
    means = values(image).reshape(4, 4, 4, 4).mean(axis=(1, 3))
    assert np.abs(values(Resize(4)(image, rng())) - means).mean() < 25  # a single pixel would be off by 60


def test_the_short_side_is_resized_and_the_middle_is_cropped():
    image = Image.fromarray(gradient(100, 200))
    small = ResizeShortSide(50)(image, rng())
    assert small.size == (100, 50)
    assert ResizeShortSide(50)(image.transpose(Image.Transpose.ROTATE_90), rng()).size == (50, 100)
    assert ResizeShortSide(150)(image, rng()).size == (300, 150)
    assert ResizeShortSide(100)(image, rng()) is image
    middle = CentreCrop(30)(image, rng())
    np.testing.assert_array_equal(values(middle), gradient(100, 200)[35:65, 85:115])
    assert Resize(7)(image, rng()).size == (7, 7)


def test_a_random_crop_moves_by_up_to_the_padding():
    array = gradient(8, 8) + 1
    padded = np.pad(array, ((2, 2), (2, 2), (0, 0)))
    random, seen = rng(), set()
    for _ in range(400):
        cut = np.asarray(RandomCrop(8, padding=2)(Image.fromarray(array), random))
        places = [(y, x) for y in range(5) for x in range(5) if (padded[y : y + 8, x : x + 8] == cut).all()]
        assert len(places) == 1
        seen.update(places)
    assert len(seen) == 25


def test_what_is_too_small_to_crop_is_refused():
    for crop in (CentreCrop(32), RandomCrop(32, 4)):
        with pytest.raises(BadExample, match="tiny: is 30×20, too small to cut 32×32 out of"):
            apply([crop], picture(), rng(), shape=(32, 32, 3), name="tiny")


def test_flips_are_mirrors_half_of_the_time():
    image, random = picture(4, 5), rng()
    flipped = 0
    for _ in range(1000):
        seen = values(RandomFlip()(image, random))
        mirrored = (seen == values(image)[:, ::-1]).all()
        assert mirrored or (seen == values(image)).all()
        flipped += mirrored
    assert 440 < flipped < 560


RECIPE = [InceptionCrop(32), RandomFlip(), RandAugment(2, 10)]


def test_the_generator_decides_everything():
    def seen(seed):
        return apply(RECIPE, picture(50, 60), rng(seed), shape=(32, 32, 3), name="a picture")

    for seed in range(5):
        assert (seen(seed) == seen(seed)).all()
    assert len({seen(seed).tobytes() for seed in range(10)}) == 10


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_channels_are_those_of_the_shape(channels, mode):
    seen = apply(RECIPE, picture(50, 60).convert(mode), rng(), shape=(32, 32, channels), name="a picture")
    assert seen.shape == (32, 32, channels)
    assert seen.dtype == np.uint8


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (lambda: InceptionCrop(0), "sizes are 1 or more"),
        (lambda: InceptionCrop(8, area=(0.5, 0.1)), "smaller bound first"),
        (lambda: InceptionCrop(8, aspect=(0.0, 1.0)), "smaller bound first"),
        (lambda: CentreCrop(-3), "sizes are 1 or more"),
        (lambda: RandomCrop(8, -1), "padding is 0 or more"),
        (lambda: Resize(0), "sizes are 1 or more"),
        (lambda: ResizeShortSide(0), "sizes are 1 or more"),
        (lambda: RandAugment(-1, 5), "layers are 0 or more"),
        (lambda: RandAugment(2, 11), "the magnitude is 0 to 10"),
    ],
)
def test_what_cannot_be_meant_is_refused(transform, words):
    with pytest.raises(ValueError, match=words):
        transform()
