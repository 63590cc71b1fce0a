"""Large pictures: converted in strips, decoded smaller, or refused; never more memory than is said."""

import io
import os

import numpy as np
import pytest
from PIL import Image

from mttt.data.errors import BadExample
from mttt.data.pictures import load_picture, picture, upright as module
from mttt.data.pictures.augment import CentreCrop, InceptionCrop, Resize, ResizeShortSide, apply
from mttt.data.pictures.picture import open_picture
from mttt.data.pictures.upright import upright

NOISE = np.random.default_rng(0).integers(0, 256, (23, 17, 4), np.uint8)


def of_mode(mode):
    if mode == "F":
        return Image.fromarray(NOISE[..., 0].astype(np.float32) * 1.7 - 20)
    if mode.startswith("I"):
        return Image.fromarray(NOISE[..., 0].astype(np.uint16 if mode == "I;16" else np.int32) * 257)
    if mode == "P transparent":
        image = Image.fromarray(NOISE[..., :3]).quantize(30)
        image.info["transparency"] = 3
        return image
    rgba = Image.fromarray(NOISE)
    return rgba if mode == "RGBA" else rgba.convert(mode)


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "P transparent", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_strips_give_the_same_picture(mode, turn, monkeypatch):
    image = of_mode(mode)
    image.getexif()[0x0112] = turn
    whole = upright(image)
    monkeypatch.setattr(module, "_STRIP", 40)  # two rows
    strips = upright(image)
    assert strips.mode == whole.mode and strips.size == whole.size
    np.testing.assert_array_equal(np.asarray(strips), np.asarray(whole))


def stored(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    file.seek(0)
    return file


def smooth(width=96, height=64):
    return Image.fromarray(np.add.outer(np.arange(height), np.arange(width)).astype(np.uint8))


@pytest.mark.parametrize("turn", [1, 6])
@pytest.mark.parametrize(
    "transforms", [(Resize(60),), (InceptionCrop(60),), (ResizeShortSide(60), CentreCrop(60)), (Resize(4),)]
)
def test_a_large_jpeg_is_decoded_at_half_its_size(transforms, turn, monkeypatch):
    exif = Image.Exif()
    exif[0x0112] = turn
    side = transforms[-1].size

    def seen():
        image = open_picture(stored(smooth(), "JPEG", quality=95, exif=exif), "large.jpg")
        assert image.size == (96, 64), "its own size is known"
        made = apply(transforms, image, np.random.default_rng(0), shape=(side, side, 1), name="large.jpg")
        return made, image.size

    expected, _ = seen()
    monkeypatch.setattr(picture, "PIXEL_LIMIT", 2000)
    made, decoded = seen()
    assert decoded[0] * decoded[1] <= 2000
    np.testing.assert_allclose(made.astype(int), expected, atol=6)


@pytest.mark.parametrize(
    ("kind", "options", "limit"),
    [
        ("PNG", {}, "80,000,000"),
        ("JPEG", {"progressive": True}, "80,000,000"),
        ("JPEG", {}, "200,000,000"),
        ("WEBP", {}, "40,000,000"),
    ],
)
def test_each_format_has_its_limit(kind, options, limit):
    opened = open_picture(stored(smooth(), kind, **options), "large")
    pixels = int(limit.replace(",", ""))
    opened._size = (pixels // 1000, 1000)
    picture.check_size(opened)
    opened._size = (pixels // 1000 + 1, 1000)
    with pytest.raises(picture.Unusable, match=f"pixels, .* together; a {kind} may have {limit}, so that it fits"):
        picture.check_size(opened)


def memory(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


@pytest.mark.parametrize("turn", [1, 6])
def test_a_picture_takes_eight_bytes_a_pixel(turn):
    """Decoded, and its copy in RGB; with transparency it was five copies."""
    side = 4000
    exif = Image.Exif()
    exif[0x0112] = turn
    file = stored(Image.new("RGBA", (side, side), (1, 2, 3, 100)), "PNG", exif=exif, compress_level=1)
    try:
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")  # the most that was used begins anew
    except OSError:
        pytest.skip("the system does not say how much memory is used")
    before = memory("VmRSS")
    apply((Resize(8),), open_picture(file, "large"), np.random.default_rng(0), shape=(8, 8, 3), name="large")
    assert memory("VmHWM") - before < 11 * side**2


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(BadExample, match=r"a.png: cannot be read: Permission denied"):
        picture.read_picture(tmp_path / "a.png", "a.png")


def test_a_picture_is_the_same_by_its_path_as_in_a_data_set(tmp_path):
    """Pillow forgets to turn 16 bits of a TIFF that it maps into memory."""
    exif = Image.Exif()
    exif[0x0112] = 6
    file = stored(of_mode("I;16"), "TIFF", exif=exif)
    (tmp_path / "a.tif").write_bytes(file.getvalue())
    expected = apply((), open_picture(file, "a"), np.random.default_rng(0), shape=(17, 23, 1), name="a")
    np.testing.assert_array_equal(load_picture(tmp_path / "a.tif", (), (17, 23, 1)), expected)
