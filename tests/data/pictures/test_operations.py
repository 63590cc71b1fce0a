"""The fourteen operations of RandAugment, each against its definition."""

from collections import Counter

import numpy as np
import pytest
from PIL import Image

from data.pictures.drawing import picture, rng, values
from mttt.data.pictures.augment import (
    OPERATIONS,
    RandAugment,
    operations,
)


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


def test_operations_are_drawn_equally_often_and_to_both_sides(monkeypatch):
    drawn = Counter()
    spies = tuple(lambda image, strength, name=name: drawn.update([(name, strength)]) or image for name in OPERATIONS)
    monkeypatch.setattr("mttt.data.pictures.augment.randaugment._OPERATIONS", spies)
    random = rng()
    for _ in range(2000):
        RandAugment(2, 5)(picture(2, 2), random)
    assert set(drawn) == {(name, strength) for name in OPERATIONS for strength in (-0.5, 0.5)}
    assert abs(np.array(list(drawn.values())) / (4000 / 28) - 1).max() < 0.3
