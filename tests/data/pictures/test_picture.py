"""Pictures as they come: what can be converted is, what cannot is refused with name and reason."""

import io
import pickle
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from mttt.data.errors import BadExample
from mttt.data.pictures import load_picture, picture
from mttt.data.pictures.augment import CentreCrop, InceptionCrop, Resize, ResizeShortSide, apply
from mttt.data.pictures.picture import open_picture, read_picture
from mttt.data.pictures.upright import upright

FIT = (ResizeShortSide(4), CentreCrop(4))


def noise(height=40, width=60, channels=3):
    values = np.random.default_rng(0).integers(0, 256, (height, width, channels), dtype=np.uint8)
    return Image.fromarray(values if channels > 1 else values[..., 0])


def stored(image, format, **options):
    """The picture as a file in memory."""
    file = io.BytesIO()
    image.save(file, format, **options)
    file.seek(0)
    return file


def opened(image, format, **options):
    return open_picture(stored(image, format, **options), "a picture")


def pixels(image, shape=None, name="a picture"):
    """As the pipeline would have it, without transforms."""
    return apply([], image, np.random.default_rng(0), shape=shape or (image.height, image.width, 3), name=name)


def png_header(width, height):
    """A PNG file that claims a size, and has no pixels."""
    chunks = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), b"IDAT"
    packed = (struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_plain_jpeg_stays_undecoded(mode):
    image = opened(noise().convert(mode), "JPEG")
    assert upright(image) is image
    assert image.tile  # Pillow's list of what is to be decoded
    assert image.draft(None, (30, 20)) is not None


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["PNG", "JPEG", "TIFF"])
def test_exif_rotation(orientation, format):
    """The stored picture of each orientation is made from the upright one by undoing what the orientation says."""
    straight = np.repeat(np.repeat(np.array([[0, 60, 120], [180, 210, 255]], np.uint8), 16, axis=0), 16, axis=1)
    undo = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.T,
        6: lambda a: np.rot90(a),
        7: lambda a: a[::-1, ::-1].T,
        8: lambda a: np.rot90(a, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = opened(Image.fromarray(np.ascontiguousarray(undo(straight))), format, exif=exif)
    seen = pixels(image, (32, 48, 1))[..., 0]
    np.testing.assert_allclose(seen.astype(int), straight, atol=2)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")  # Pillow's, once
def test_a_broken_exif_note_does_not_spoil_the_picture():
    file = stored(noise(), "JPEG", exif=b"Exif\x00\x00MM\x00\x2a\xff\xff\xff\xff")
    assert pixels(open_picture(file, "a picture"), (40, 60, 3)).shape == (40, 60, 3)


@pytest.mark.parametrize("format", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_to_eight(format):
    deep = np.linspace(0, 65535, 256).round().astype(np.uint16).reshape(16, 16)
    seen = pixels(opened(Image.fromarray(deep), format), (16, 16, 1))
    np.testing.assert_array_equal(seen[..., 0], np.arange(256).reshape(16, 16))


def test_wide_integers_and_big_endian_are_taken_as_sixteen_bits():
    wide = Image.fromarray(np.array([[0, 257, 65535]], np.int32))
    np.testing.assert_array_equal(pixels(wide, (1, 3, 1))[0, :, 0], [0, 1, 255])
    narrow = Image.fromarray(np.array([[0, 7, 255]], np.int32))  # 32 bits, of which 8 are used
    np.testing.assert_array_equal(pixels(narrow, (1, 3, 1))[0, :, 0], [0, 7, 255])
    with pytest.raises(BadExample, match="integer pixels from -5 to 100000"):
        pixels(Image.fromarray(np.array([[-5, 100000]], np.int32)), (1, 2, 1))
    big = Image.frombytes("I;16B", (2, 1), struct.pack(">HH", 257 * 7, 65535))
    np.testing.assert_array_equal(pixels(big, (1, 2, 1))[0, :, 0], [7, 255])


def test_floats_are_parts_of_one_or_values_to_255():
    unit = opened(Image.fromarray(np.array([[0.0, 0.2, 1.0]], np.float32)), "TIFF")
    np.testing.assert_array_equal(pixels(unit, (1, 3, 1))[0, :, 0], [0, 51, 255])
    wide = Image.fromarray(np.array([[-3.0, 1.4, 99.6, 300.0]], np.float32))
    np.testing.assert_array_equal(pixels(wide, (1, 4, 1))[0, :, 0], [0, 1, 100, 255])
    with pytest.raises(BadExample, match="a picture: has pixels that are infinite or not a number"):
        pixels(Image.fromarray(np.array([[np.nan]], np.float32)), (1, 1, 1))


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_alpha_is_laid_on_white(mode):
    image = Image.new(mode, (4, 1), (0,) * len(mode))
    for x, alpha in enumerate([0, 51, 255]):
        image.putpixel((x, 0), (*[100] * (len(mode) - 1), alpha))
    seen = pixels(opened(image, "PNG"), (1, 4, 1))[0, :, 0]
    np.testing.assert_allclose(seen.astype(int), [255, 224, 100, 255], atol=1)


def test_palettes_and_their_transparency():
    image = Image.new("P", (3, 1))
    image.putpalette([10, 20, 30, 200, 100, 50, 1, 2, 3])
    for x in range(3):
        image.putpixel((x, 0), x)
    np.testing.assert_array_equal(pixels(opened(image, "PNG"))[0], [[10, 20, 30], [200, 100, 50], [1, 2, 3]])
    seen = pixels(opened(image, "PNG", transparency=1))
    np.testing.assert_array_equal(seen[0], [[10, 20, 30], [255, 255, 255], [1, 2, 3]])


@pytest.mark.parametrize("format", ["JPEG", "TIFF"])
def test_cmyk(format):
    """Cyan ink, no ink, black ink; a JPEG made by Adobe's software stores them inverted."""
    inks = np.repeat(np.array([[[255, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 255]]], np.uint8), 16, axis=1).repeat(
        16, axis=0
    )
    seen = pixels(opened(Image.fromarray(inks, "CMYK"), format))
    expected = [[0, 255, 255], [255, 255, 255], [0, 0, 0]]
    np.testing.assert_allclose(seen[8, 8::16].astype(int), expected, atol=3)


def test_one_bit():
    image = Image.fromarray(np.array([[True, False, True]]))
    assert image.mode == "1"
    np.testing.assert_array_equal(pixels(opened(image, "PNG"), (1, 3, 3))[0, :, 0], [255, 0, 255])


def test_an_animation_is_its_first_frame(tmp_path):
    frames = [Image.new("RGB", (4, 4), color) for color in ("red", "blue")]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    image = open_picture(read_picture(tmp_path / "moving.gif", "moving.gif"), "moving.gif")
    assert (pixels(image) == [255, 0, 0]).all()  # and the file is closed: an open one would be a warning


def test_one_pixel(tmp_path):
    dot = Image.new("RGB", (1, 1), (1, 2, 3))
    seen = apply([InceptionCrop(8)], opened(dot, "PNG"), np.random.default_rng(0), shape=(8, 8, 3), name="dot")
    assert (seen == [1, 2, 3]).all()
    dot.save(tmp_path / "dot.png")
    assert (load_picture(tmp_path / "dot.png", FIT, (4, 4, 3)) == [1, 2, 3]).all()


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
@pytest.mark.parametrize("transforms", [[InceptionCrop(8)], [ResizeShortSide(8), CentreCrop(8)], [Resize(8)]])
def test_twenty_thousand_pixels_wide(format, transforms):
    image = opened(Image.new("L", (20_000, 30), 77), format)
    seen = apply(transforms, image, np.random.default_rng(0), shape=(8, 8, 1), name="wide")
    assert (seen == 77).all()


@pytest.mark.parametrize("format", ["JPEG", "PNG", "TIFF", "GIF", "BMP"])
def test_large_pictures_within_the_limit_are_decoded_without_a_warning(monkeypatch, format):
    """As if Pillow's limits were tiny. Warnings are errors in tests."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    file = stored(Image.new("L", (60, 40), 128), format)
    image = open_picture(file, "large")
    seen = apply([Resize(8)], image, np.random.default_rng(0), shape=(8, 8, 1), name="large")
    assert (seen == 128).all()
    assert Image.MAX_IMAGE_PIXELS == 100


def test_a_decompression_bomb_is_refused_before_decoding(monkeypatch):
    for width, height in [(8_000, 10_001), (14_000, 14_000), (60_000, 60_000)]:
        reason = f"bomb.png: has {width}×{height} pixels, {width * height:,} together; a PNG may have 80,000,000"
        with pytest.raises(BadExample, match=reason):
            open_picture(io.BytesIO(png_header(width, height)), "bomb.png")
    assert open_picture(io.BytesIO(png_header(8_000, 10_000)), "allowed").size == (8_000, 10_000)
    monkeypatch.setattr(picture, "PIXEL_LIMIT", 99)
    with pytest.raises(BadExample, match="ours: has 10×10 pixels"):  # opened by someone else
        pixels(Image.new("L", (10, 10)), name="ours")


def test_zero_sizes_are_refused():
    with pytest.raises(BadExample, match="nothing: has no pixels: it is 0×5"):
        pixels(Image.new("L", (0, 5)), name="nothing")
    with pytest.raises(BadExample, match=r"zero.png: is not an image"):
        open_picture(io.BytesIO(png_header(0, 5)), "zero.png")


@pytest.mark.parametrize("format", ["JPEG", "PNG", "GIF", "TIFF", "WEBP"])
def test_truncated_files_are_refused(format):
    """Whether the end is missing is only seen on decoding."""
    data = stored(noise(200, 200), format).getvalue()
    cut = io.BytesIO(data[: len(data) * 2 // 3])
    crop, rng = [InceptionCrop(8)], np.random.default_rng(0)
    with pytest.raises(BadExample, match=r"^cut: ") as caught:
        apply(crop, open_picture(cut, "cut"), rng, shape=(8, 8, 3), name="cut")
    assert "cannot be read" in caught.value.reason or "not an image" in caught.value.reason


@pytest.mark.parametrize(("content", "reason"), [(b"", "is empty"), (b"just words\n" * 9, "is text, not an image")])
def test_empty_files_and_text_called_jpg(tmp_path, content, reason):
    path = tmp_path / "picture.jpg"
    path.write_bytes(content)
    with pytest.raises(BadExample, match=reason) as caught:
        open_picture(io.BytesIO(content), "train/cat/picture.jpg")
    assert str(caught.value) == f"train/cat/picture.jpg: {reason}"
    with pytest.raises(BadExample, match=f"picture.jpg: {reason}"):
        load_picture(path, FIT, (8, 8, 3))


def test_missing_files_and_directories(tmp_path):
    with pytest.raises(BadExample, match=r"none.png: does not exist"):
        read_picture(tmp_path / "none.png", "none.png")
    with pytest.raises(BadExample, match="is a directory; give the images in it"):
        load_picture(tmp_path, FIT, (8, 8, 3))


def test_a_bad_image_survives_the_way_home_from_a_worker():
    error = pickle.loads(pickle.dumps(BadExample("a/b.jpg", "is empty")))
    assert (error.name, error.reason, str(error)) == ("a/b.jpg", "is empty", "a/b.jpg: is empty")


def test_a_picture_of_the_wrong_size_or_of_odd_channels_is_refused():
    with pytest.raises(BadExample, match="odd: is 60×40 after its transforms, but the model takes 8×8"):
        apply([], noise(), np.random.default_rng(0), shape=(8, 8, 3), name="odd")
    with pytest.raises(ValueError, match="images of 2 channels"):
        apply([], noise(), np.random.default_rng(0), shape=(40, 60, 2), name="odd")


def test_an_error_of_a_transform_is_not_blamed_on_the_picture():
    def broken(image, rng):
        raise ZeroDivisionError("a mistake in the code")

    with pytest.raises(ZeroDivisionError):
        apply([broken], noise(), np.random.default_rng(0), shape=(40, 60, 3), name="innocent")


def test_a_strip_that_would_not_fit_the_memory_is_cut_to_its_middle(tmp_path):
    """40,000×1 with the short side at 256 would be 2.6 billion pixels."""
    ramp = np.linspace(0, 255, 40_000).astype(np.uint8)[None, :]
    image = ResizeShortSide(256)(Image.fromarray(ramp), np.random.default_rng(0))
    assert image.height == 256
    assert image.width < 10**6
    middle = CentreCrop(224)(image, np.random.default_rng(0))
    assert abs(int(np.asarray(middle).mean()) - 127) <= 1
