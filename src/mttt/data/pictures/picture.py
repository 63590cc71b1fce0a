"""One picture from a file: opened, checked, decoded."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path

from PIL import Image, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile

from mttt.data.errors import BadExample, why
from mttt.files import contents

# A picture may take about 1 GB of memory: its file, its decoded pixels (4 bytes each) and its RGB copy (4 more).
PIXEL_LIMIT = 80_000_000
# Pillow's WebP decoder alone takes 16 bytes a pixel.
WEBP_LIMIT = 40_000_000
# A JPEG can be decoded at a half of its size and less, so those that phones take today are not too large. This does not
# hold for a progressive one, whose coefficients are all held in memory.
JPEG_LIMIT = 200_000_000
FILE_LIMIT = 2**29  # bytes

# Named because Pillow knows some that run other programs.
FORMATS = ("JPEG", "PNG", "BMP", "DIB", "GIF", "WEBP", "TIFF", "PPM")


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


def read_picture(path: Path, name: str) -> BytesIO:
    """The bytes of a regular file that is not too large; anything else is a BadExample of this name."""
    try:
        return BytesIO(contents(path, FILE_LIMIT))
    except FileNotFoundError as error:
        raise BadExample(name, "does not exist") from error
    except OSError as error:
        hint = f"is a directory; give the images in it: {name}/*" if path.is_dir() else ""
        raise BadExample(name, hint or why(path, error)) from error


def open_picture(file: BytesIO, name: str) -> Image.Image:
    """Opened, not decoded; the whole of a BadExample's name is `name`. Close it, or give it to `apply`, which does."""
    try:
        with _without_pillows_limit():
            image = Image.open(file, formats=FORMATS)
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
    if pixels > (limit := _limit(image)):
        kind = f"a {image.format}" if image.format else "a picture"
        raise Unusable(
            f"has {image.width}×{image.height} pixels, {pixels:,} together; {kind} may have {limit:,}, so that it fits "
            "the memory. Scale it down first"
        )


def _limit(image: Image.Image) -> int:
    if isinstance(image, JpegImageFile) and not image.info.get("progressive"):
        return JPEG_LIMIT
    return WEBP_LIMIT if image.format == "WEBP" else PIXEL_LIMIT


def least_reduction(image: Image.Image) -> int:
    """By how much a JPEG has to be reduced when it is decoded; 1 for any picture that may be decoded as it is."""
    return 1 if image.width * image.height <= PIXEL_LIMIT else 2


def decode(image: Image.Image) -> None:
    """Decode, if that was not done; a JPEG that is too large for that at a half of its size."""
    if (part := least_reduction(image)) > 1:
        image.draft(None, (image.width // part, image.height // part))
    known = Image.MAX_IMAGE_PIXELS
    lift = known is not None and image.width * image.height > known  # some readers look at it again
    try:
        with _without_pillows_limit() if lift else nullcontext():
            image.load()
    except Exception as error:  # broken data makes Pillow's readers fail in every way there is
        raise Unusable(_reason(error)) from error


def _reason(error: Exception) -> str:
    return f"cannot be read: {error or type(error).__name__}"


def _no_image(file: BytesIO) -> str:
    """What it is instead."""
    file.seek(0)
    begin = file.read(64)
    if not begin:
        return "is empty"
    text = begin.isascii() and all(byte >= 32 or byte in b"\t\r\n" for byte in begin)
    return "is text, not an image" if text else "is not an image that can be read"


_LOCK = threading.Lock()


@contextmanager
def _without_pillows_limit() -> Iterator[None]:
    """Pillow warns of pictures half as large as ours may be, and has no other way to be told than one global."""
    with _LOCK:
        before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = before
