"""The picture that a request asks about: an example, a file, or a drawing, as the model gets it."""

import base64
import binascii
from collections.abc import Mapping
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from mttt.data import BadExample
from mttt.data.pictures import fitted, open_picture
from mttt.recipes.data import fit_picture
from mttt.training import Loaded
from mttt.watch.asked import Refused, truth

UPLOAD = 10_000_000
"""bytes of a file that somebody brings"""
CANVAS = 1024
"""side of the largest drawing"""


class Pictured(NamedTuple):
    """One of the pictures that a model is judged by."""

    pixels: UInt8[np.ndarray, "h w c"]
    label: str


def picture_of(asked: Any, loaded: Loaded, examples: Mapping[str, Pictured]) -> Pictured:
    """The pixels that a model gets; of a picture that somebody brings nobody knows the label, and it is empty."""
    if not isinstance(asked, dict):
        raise Refused("input is missing: expected an object with example, picture or drawing")
    if "example" in asked:
        if not isinstance(asked["example"], str) or asked["example"] not in examples:
            raise Refused(f"there is no example {str(asked['example'])[:40]!r}; there are {len(examples)}")
        return examples[asked["example"]]
    if "picture" in asked:
        return Pictured(_from_file(asked, loaded), "")
    if "drawing" in asked:
        return Pictured(_from_drawing(asked["drawing"], loaded), "")
    raise Refused("input has neither example nor picture nor drawing")


def _from_file(asked: dict[str, Any], loaded: Loaded) -> UInt8[np.ndarray, "h w c"]:
    given, invert = asked["picture"], truth(asked, "invert")
    if not isinstance(given, str):
        raise Refused("picture should be the bytes of an image file, in base64")
    if len(given) > 4 * (UPLOAD // 3 + 1):
        raise Refused(f"the picture has more than {UPLOAD:,} bytes; scale it down first", 413)
    try:
        file = BytesIO(base64.b64decode(given, validate=True))
    except (binascii.Error, ValueError) as error:
        raise Refused("picture should be the bytes of an image file, in base64") from error
    try:
        return _fitted(open_picture(file, "the picture"), loaded, invert=invert)
    except BadExample as bad:
        raise Refused(f"the picture {bad.reason}") from bad


def _from_drawing(rows: Any, loaded: Loaded) -> UInt8[np.ndarray, "h w c"]:
    expected = f"expected as many rows of numbers from 0 to 255 as each row has, at most {CANVAS}"
    if not isinstance(rows, list) or not 0 < len(rows) <= CANVAS:
        raise Refused(f"the drawing is no square: {expected}")
    for row in rows:
        if not isinstance(row, list) or len(row) != len(rows):
            raise Refused(f"the drawing is no square: {expected}")
        if not all(type(value) in (int, float) and 0 <= value <= 255 for value in row):
            raise Refused(f"the drawing has something else than numbers from 0 to 255: {expected}")
    return _fitted(Image.fromarray(np.asarray(rows).astype(np.uint8)), loaded)


def _fitted(image: Image.Image, loaded: Loaded, *, invert: bool = False) -> UInt8[np.ndarray, "h w c"]:
    shape = loaded.spec.inputs.shape
    return fitted(image, "the picture", fit_picture(loaded.recipe.data, shape), shape, invert=invert)


def thumbnail(pixels: UInt8[np.ndarray, "h w c"], least: int = 48) -> str:
    """A PNG of an example as a data URL. Small ones are enlarged without smoothing: pixels are what the model sees."""
    image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    times = -(-least // max(image.size))
    image = image.resize((image.width * times, image.height * times), Image.Resampling.NEAREST)
    image.thumbnail((96, 96))
    file = BytesIO()
    image.save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
