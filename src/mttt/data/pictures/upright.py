"""A picture of any mode, turned upright and brought to eight bits of gray or RGB.

Large pictures are converted strip by strip: beside the picture and the result, memory is needed for one strip only.
"""

from collections.abc import Callable, Iterator

import numpy as np
from PIL import ExifTags, Image
from PIL.JpegImagePlugin import JpegImageFile

from mttt.data.pictures.picture import Unusable, check_size, decode

_STRIP = 2**20  # pixels; a strip may take twenty bytes for each
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_LYING = (Image.Transpose.TRANSPOSE, Image.Transpose.ROTATE_270, Image.Transpose.TRANSVERSE, Image.Transpose.ROTATE_90)
# Turns that put the last row first, or in the first column.
_FROM_THE_END = (
    Image.Transpose.ROTATE_180,
    Image.Transpose.FLIP_TOP_BOTTOM,
    Image.Transpose.ROTATE_270,
    Image.Transpose.TRANSVERSE,
)

_Change = Callable[[Image.Image], Image.Image]


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
    mode, change = _plain(image)
    if turn is None and image.mode == mode and not image.has_transparency_data:
        return image
    return _by_strips(image, mode, change, turn)


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


def _strips(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """The picture in parts of whole rows, each with its first row."""
    rows = max(1, _STRIP // image.width)
    if rows >= image.height:
        yield 0, image
        return
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _by_strips(image: Image.Image, mode: str, change: _Change, turn: Image.Transpose | None) -> Image.Image:
    width, height = image.size
    made = None
    for top, strip in _strips(image):
        part = change(strip)
        part = part if turn is None else part.transpose(turn)
        if strip is image:
            return part
        if made is None:
            made = Image.new(mode, (height, width) if turn in _LYING else (width, height))
        place = height - top - strip.height if turn in _FROM_THE_END else top
        made.paste(part, (place, 0) if turn in _LYING else (0, place))
    assert made is not None  # pictures without pixels were refused
    return made


def _plain(image: Image.Image) -> tuple[str, _Change]:
    """Mode L or RGB, and how to get there. Pillow alone would clip sixteen bits and floats, and drop transparency."""
    mode = image.mode
    if mode.startswith("I"):
        return "L", _integers(image)
    if mode == "F":
        return "L", _floats(image)
    plain = "L" if mode in ("1", "L", "LA") else "RGB"
    return plain, _on_white(plain) if image.has_transparency_data else lambda strip: strip.convert(plain)


def _integers(image: Image.Image) -> _Change:
    ranges = [(int(values.min()), int(values.max())) for values in _values(image)]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    if low < 0 or high > 65535:
        raise Unusable(f"has integer pixels from {low} to {high}; 0 to 65535 can be used")
    deep = image.mode.startswith("I;16") or high > 255  # 32 bits say nothing of the range that is meant
    return lambda strip: Image.fromarray((np.asarray(strip) // (257 if deep else 1)).astype(np.uint8))


def _floats(image: Image.Image) -> _Change:
    if not all(np.isfinite(values).all() for values in _values(image)):
        raise Unusable("has pixels that are infinite or not a number")
    scale = 255 if max(values.max() for values in _values(image)) <= 1 else 1
    return lambda strip: Image.fromarray((np.asarray(strip) * scale).round().clip(0, 255).astype(np.uint8))


def _values(image: Image.Image) -> Iterator[np.ndarray]:
    return (np.asarray(strip) for _, strip in _strips(image))


def _on_white(mode: str) -> _Change:
    def change(strip: Image.Image) -> Image.Image:
        white = Image.new("RGBA", strip.size, "white")
        return Image.alpha_composite(white, strip.convert("RGBA")).convert(mode)

    return change
