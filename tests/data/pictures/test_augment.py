"""Transforms, each against its definition."""

import io
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from mttt.data.errors import BadExample
from mttt.data.pictures.augment import (
    OPERATIONS,
    CentreCrop,
    InceptionCrop,
    RandAugment,
    RandomCrop,
    RandomFlip,
    Resize,
    ResizeShortSide,
    apply,
    operations,
)
from mttt.data.pictures.augment.resize import scaled
from mttt.data.pictures.picture import open_picture


def picture(height=20, width=30, channels=3, seed=0, low=0, high=256):
    values = np.random.default_rng(seed).integers(low, high, (height, width, channels), dtype=np.uint8)
    return Image.fromarray(values if channels > 1 else values[..., 0])


def gradient(height, width):
    """Every pixel another colour: red is the column, green the row."""
    rows, columns = np.indices((height, width))
    return np.stack([columns, rows, 0 * rows], axis=-1).astype(np.uint8)


def rng(seed=0):
    return np.random.default_rng(seed)


def values(image):
    return np.asarray(image).astype(int)


def jpeg(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "JPEG", quality=95)
    file.seek(0)
    return open_picture(file, "a picture")


# Sizes and boxes


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


# The fourteen operations


def test_autocontrast_stretches_each_channel():
    image = picture(low=90, high=140)
    v = values(image)
    low, high = v.min(axis=(0, 1)), v.max(axis=(0, 1))
    seen = values(operations.autocontrast(image))
    np.testing.assert_array_equal(seen.min(axis=(0, 1)), [0, 0, 0])
    np.testing.assert_array_equal(seen.max(axis=(0, 1)), [255, 255, 255])
    np.testing.assert_array_equal(seen, np.round((v - low) * (255 / (high - low))))
    flat = Image.new("RGB", (3, 3), (5, 6, 7))
    np.testing.assert_array_equal(values(operations.autocontrast(flat)), values(flat))


def test_equalize_makes_values_equally_frequent():
    """Of each channel: (how many are darker, plus half a step) in steps of (all but the lightest) / 255."""
    image = Image.fromarray((np.random.default_rng(0).random((60, 70, 3)) ** 3 * 200).astype(np.uint8))
    expected = []
    for channel in np.moveaxis(values(image), -1, 0):
        counts = np.bincount(channel.ravel(), minlength=256)
        step = (counts.sum() - counts[channel.max()]) // 255
        darker = np.cumsum(counts) - counts
        expected.append(((darker + step // 2) // step).clip(0, 255)[channel])
    seen = values(operations.equalize(image))
    np.testing.assert_array_equal(seen, np.stack(expected, axis=-1))
    assert np.abs(np.histogram(seen[..., 0], 4, (0, 256))[0] / 1050 - 1).max() < 0.1


@pytest.mark.parametrize("threshold", [0, 77, 256])
def test_solarize_inverts_from_the_threshold_on(threshold):
    v = values(picture())
    expected = np.where(v < threshold, v, 255 - v)
    np.testing.assert_array_equal(values(operations.solarize(picture(), threshold)), expected)


@pytest.mark.parametrize("bits", [4, 6, 8])
def test_posterize_keeps_the_highest_bits(bits):
    v = values(picture())
    np.testing.assert_array_equal(values(operations.posterize(picture(), bits)), v >> (8 - bits) << (8 - bits))


def blended(degenerate, image, factor):
    return (degenerate + factor * (values(image) - degenerate)).clip(0, 255)


@pytest.mark.parametrize("factor", [0.1, 0.5, 1.0, 1.9])
def test_enhancements_lie_on_a_line_through_the_picture(factor):
    image = picture(24, 24, low=30, high=220)
    v = values(image)
    gray = (v @ [0.299, 0.587, 0.114]).round()[..., None]
    smooth = v.astype(float)
    around = sum(v[1 + dy : 23 + dy, 1 + dx : 23 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1))
    smooth[1:-1, 1:-1] = (around + 4 * v[1:-1, 1:-1]) / 13  # the border stays
    for name, degenerate in [("brightness", 0), ("color", gray), ("contrast", gray.mean()), ("sharpness", smooth)]:
        seen = values(getattr(operations, name)(image, factor))
        np.testing.assert_allclose(seen, blended(degenerate, image, factor), atol=2.1, err_msg=name)


def test_translations_move_pixels_exactly():
    image = picture(20, 30)
    v = values(image)
    for part in (0.1, -0.1):
        x, y = (values(operation(image, part)) for operation in (operations.translate_x, operations.translate_y))
        moved_x, moved_y = np.full_like(v, 128), np.full_like(v, 128)
        if part > 0:
            moved_x[:, 3:], moved_y[2:] = v[:, :-3], v[:-2]
        else:
            moved_x[:, :-3], moved_y[:-2] = v[:, 3:], v[2:]
        np.testing.assert_array_equal(x, moved_x)
        np.testing.assert_array_equal(y, moved_y)


@pytest.mark.parametrize("slope", [0.25, -0.25])
def test_shears_move_rows_or_columns(slope):
    """At the middle of pixel (x, y), the colour at (x + slope·y, y); around the corner, so the first row stays."""
    v = values(picture(16, 16))
    rows, columns = np.indices((16, 16))
    sources = np.floor(columns + 0.5 + slope * (rows + 0.5)).astype(int)
    expected = np.where(
        ((sources >= 0) & (sources < 16))[..., None], v[rows, sources.clip(0, 15)], 128
    )  # gray moves in
    seen = values(operations.shear_x(picture(16, 16), slope))
    np.testing.assert_array_equal(seen, expected)
    turned = Image.fromarray(np.swapaxes(np.asarray(picture(16, 16)), 0, 1).copy())
    np.testing.assert_array_equal(values(operations.shear_y(turned, slope)).swapaxes(0, 1), expected)


def test_rotation_is_around_the_middle_and_fills_with_gray():
    image = picture(21, 21)
    np.testing.assert_array_equal(values(operations.rotate(image, 90.0)), np.rot90(values(image)))
    seen = values(operations.rotate(image, 30.0))
    np.testing.assert_array_equal(seen[10, 10], values(image)[10, 10])
    assert (seen[[0, 0, -1, -1], [0, -1, 0, -1]] == 128).all()
    angle = np.deg2rad(30)  # counterclockwise: what was right of the middle goes up
    np.testing.assert_array_equal(
        seen[10 - round(8 * np.sin(angle)), 10 + round(8 * np.cos(angle))], values(image)[10, 18]
    )


def test_ranges_at_full_and_at_no_strength():
    image = picture(224, 224)
    expected = {
        "rotate": lambda sign: operations.rotate(image, 30.0 * sign),
        "solarize": lambda sign: operations.solarize(image, 0),
        "posterize": lambda sign: operations.posterize(image, 4),
        "shear_x": lambda sign: operations.shear_x(image, 0.3 * sign),
        "shear_y": lambda sign: operations.shear_y(image, 0.3 * sign),
        "translate_x": lambda sign: operations.translate_x(image, sign * 100 / 224),
        "translate_y": lambda sign: operations.translate_y(image, sign * 100 / 224),
    } | {
        name: lambda sign, name=name: getattr(operations, name)(image, 1 + 0.9 * sign)
        for name in ("color", "contrast", "brightness", "sharpness")
    }
    without = {"identity", "autocontrast", "equalize"}
    assert set(expected) | without == set(OPERATIONS)
    assert len(OPERATIONS) == 14
    for name, operation in expected.items():
        for sign in (1.0, -1.0):
            np.testing.assert_array_equal(values(operation(sign)), values(OPERATIONS[name](image, sign)), name)
        np.testing.assert_allclose(values(OPERATIONS[name](image, 0.0)), values(image), atol=1, err_msg=name)
    assert (values(OPERATIONS["translate_x"](image, 1.0))[:, :100] == 128).all()


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_a_gray_picture_is_treated_like_one_in_rgb(name):
    gray = picture(24, 24, channels=1, low=20, high=200)
    for strength in (-0.7, 0.7):
        seen = OPERATIONS[name](gray, strength)
        assert seen.mode == "L"
        in_colour = values(OPERATIONS[name](gray.convert("RGB"), strength))
        np.testing.assert_allclose(in_colour[..., 0], values(seen), atol=1)


# Lists of transforms


def test_operations_are_drawn_equally_often_and_to_both_sides(monkeypatch):
    drawn = Counter()
    spies = tuple(lambda image, strength, name=name: drawn.update([(name, strength)]) or image for name in OPERATIONS)
    monkeypatch.setattr("mttt.data.pictures.augment.randaugment._OPERATIONS", spies)
    random = rng()
    for _ in range(2000):
        RandAugment(2, 5)(picture(2, 2), random)
    assert set(drawn) == {(name, strength) for name in OPERATIONS for strength in (-0.5, 0.5)}
    assert abs(np.array(list(drawn.values())) / (4000 / 28) - 1).max() < 0.3


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
