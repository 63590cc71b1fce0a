"""One picture from a file: opened, turned upright, and brought to eight bits of gray or RGB."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import BufferedReader, BytesIO
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile

from mttt.data.errors import BadExample

# The most pixels that are decoded, 800 MB of them. The largest photographs that phones take have fewer; what has more
# is a map, a scan, or a small file made to fill the memory.
PIXEL_LIMIT = 200_000_000

# Named because Pillow knows some that run other programs.
FORMATS = ("JPEG", "PNG", "BMP", "DIB", "GIF", "WEBP", "TIFF", "PPM")

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class Unusable(ValueError):
    """Why a picture cannot be used, said where its name is not known; `naming` makes a BadExample of it."""


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Inside, a picture that cannot be used, or a file that cannot be read, is a BadExample of this name."""
    try:
        yield
    except Unusable as error:
        raise BadExample(name, str(error)) from error
    except OSError as error:  # from a transform that made Pillow decode
        raise BadExample(name, f"cannot be read: {error}") from error


def open_picture(file: Path | BytesIO | BufferedReader, name: str) -> Image.Image:
    """Opened, not decoded; the whole of a BadExample's name is `name`. Close it, or give it to `apply`, which does."""
    try:
        with _without_pillows_limit():
            image = Image.open(file, formats=FORMATS)
    except FileNotFoundError as error:
        raise BadExample(name, "does not exist") from error
    except IsADirectoryError as error:
        raise BadExample(name, f"is a directory; give the images in it: {name}/*") from error
    except UnidentifiedImageError as error:
        raise BadExample(name, _no_image(file)) from error
    except Exception as error:  # broken headers make Pillow's readers fail in every way there is
        raise BadExample(name, _reason(error)) from error
    try:
        with naming(name):
            check_size(image)
    except BadExample:
        image.close()
        raise
    return image


def check_size(image: Image.Image) -> None:
    """Refuse a picture without pixels, and one with more than may be decoded."""
    pixels = image.width * image.height
    if not pixels:
        raise Unusable(f"has no pixels: it is {image.width}×{image.height}")
    if pixels > PIXEL_LIMIT:
        raise Unusable(
            f"has {image.width}×{image.height} pixels; at most {PIXEL_LIMIT:,} are decoded, so as not to fill the "
            "memory. Scale it down first"
        )


def decode(image: Image.Image) -> None:
    """Decode, if that was not done."""
    known = Image.MAX_IMAGE_PIXELS
    lift = known is not None and image.width * image.height > known  # some readers look at it again
    try:
        with _without_pillows_limit() if lift else nullcontext():
            image.load()
    except Exception as error:  # broken data makes Pillow's readers fail in every way there is
        raise Unusable(_reason(error)) from error


def upright(image: Image.Image) -> Image.Image:
    """The first frame, turned as its EXIF orientation says, in mode L or RGB.

    Sixteen bits become eight, transparency is laid on white paper, and palettes and CMYK become RGB. Floats are taken
    as 0…1 if none is larger, otherwise as 0…255. A plain JPEG stays undecoded, so that who needs it small can have it
    decoded small.
    """
    check_size(image)
    if isinstance(image, JpegImageFile) and image.mode in ("L", "RGB") and _turn(image) is None:
        return image
    decode(image)
    turn = _turn(image)  # after decoding: PNG may have it behind the pixels, and TIFF turns by itself
    plain = _plain(image)
    return plain if turn is None else plain.transpose(turn)


def in_channels(image: Image.Image, channels: int) -> Image.Image:
    """Gray or RGB, decoded."""
    modes = {1: "L", 3: "RGB"}
    if channels not in modes:
        raise ValueError(f"images of {channels} channels; pictures have 1 (gray) or 3 (RGB)")
    decode(image)
    return image if image.mode == modes[channels] else image.convert(modes[channels])


def _turn(image: Image.Image) -> Image.Transpose | None:
    try:
        return _TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # what a broken note says about a picture does not matter
        return None


def _plain(image: Image.Image) -> Image.Image:
    """Mode L or RGB, of the same picture. Pillow alone would clip sixteen bits and floats, and drop transparency."""
    mode = image.mode
    if mode.startswith("I"):
        values = np.asarray(image)
        low, high = int(values.min()), int(values.max())
        if low < 0 or high > 65535:
            raise Unusable(f"has integer pixels from {low} to {high}; 0 to 65535 can be used")
        deep = mode.startswith("I;16") or high > 255  # 32 bits say nothing of the range that is meant
        return Image.fromarray((values // 257 if deep else values).astype(np.uint8))
    if mode == "F":
        values = np.asarray(image)
        if not np.isfinite(values).all():
            raise Unusable("has pixels that are infinite or not a number")
        return Image.fromarray((values * (255 if values.max() <= 1 else 1)).round().clip(0, 255).astype(np.uint8))
    gray = mode in ("1", "L", "LA")
    if image.has_transparency_data:
        drawn = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), drawn)
    return image.convert("L" if gray else "RGB")


def _reason(error: Exception) -> str:
    return f"cannot be read: {error or type(error).__name__}"


def _no_image(file: Path | BytesIO | BufferedReader) -> str:
    """What it is instead."""
    if isinstance(file, Path):
        with file.open("rb") as opened:
            begin = opened.read(64)
    else:
        file.seek(0)
        begin = file.read(64)
    if not begin:
        return "is empty"
    text = begin.isascii() and all(byte >= 32 or byte in b"\t\r\n" for byte in begin)
    return "is text, not an image" if text else "is not an image that can be read"


_LIMIT = threading.Lock()


@contextmanager
def _without_pillows_limit() -> Iterator[None]:
    """Pillow warns of pictures half as large as ours may be, and has no other way to be told than one global."""
    with _LIMIT:
        before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = before
