"""The fourteen operations of RandAugment (Cubuk et al., 2020), each a small function of a picture in mode L or RGB.

`OPERATIONS` gives each a strength from −1 to 1, on the ranges of AutoAugment (Cubuk et al., 2019). Where there is no
direction, the sign does not matter. What moves into the picture is gray, 128; pixels are moved, not interpolated.
"""

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

GRAY = 128


def identity(image: Image.Image) -> Image.Image:
    """As it is."""
    return image


def autocontrast(image: Image.Image) -> Image.Image:
    """Each channel stretched linearly, its darkest value to 0 and its lightest to 255."""
    bounds = image.getextrema() if image.mode == "RGB" else (image.getextrema(),)
    values = np.arange(256)
    table = []
    for low, high in np.asarray(bounds):
        stretched = np.round((values - low) * (255 / (high - low))).clip(0, 255) if high > low else values
        table += stretched.astype(np.uint8).tolist()
    return image.point(table)


def equalize(image: Image.Image) -> Image.Image:
    """Each channel's values spread so that all are about equally frequent."""
    return ImageOps.equalize(image)


def rotate(image: Image.Image, degrees: float) -> Image.Image:
    """Counterclockwise around the middle."""
    return image.rotate(degrees, fillcolor=_gray(image))


def solarize(image: Image.Image, threshold: int) -> Image.Image:
    """v if v < threshold, otherwise 255 − v."""
    return ImageOps.solarize(image, threshold)


def posterize(image: Image.Image, bits: int) -> Image.Image:
    """The highest bits of each value."""
    return ImageOps.posterize(image, bits)


def color(image: Image.Image, factor: float) -> Image.Image:
    """Gray at 0, the same at 1, more colourful beyond."""
    return image if image.mode == "L" else ImageEnhance.Color(image).enhance(factor)


def contrast(image: Image.Image, factor: float) -> Image.Image:
    """The mean gray at 0, the same at 1, more contrast beyond."""
    return ImageEnhance.Contrast(image).enhance(factor)


def brightness(image: Image.Image, factor: float) -> Image.Image:
    """Black at 0, the same at 1, brighter beyond."""
    return ImageEnhance.Brightness(image).enhance(factor)


def sharpness(image: Image.Image, factor: float) -> Image.Image:
    """Smoothed at 0, the same at 1, sharper beyond."""
    return ImageEnhance.Sharpness(image).enhance(factor)


def shear_x(image: Image.Image, slope: float) -> Image.Image:
    """Row y moved left by slope·y; the top stays."""
    return _affine(image, (1.0, slope, 0.0, 0.0, 1.0, 0.0))


def shear_y(image: Image.Image, slope: float) -> Image.Image:
    """Column x moved up by slope·x; the left side stays."""
    return _affine(image, (1.0, 0.0, 0.0, slope, 1.0, 0.0))


def translate_x(image: Image.Image, part: float) -> Image.Image:
    """Moved right by a part of the width, rounded to whole pixels."""
    return _moved(image, round(part * image.width), 0)


def translate_y(image: Image.Image, part: float) -> Image.Image:
    """Moved down by a part of the height, rounded to whole pixels."""
    return _moved(image, 0, round(part * image.height))


# 100 of 224 pixels, as in the recipe of Beyer et al. (2022); AutoAugment's 150 of 331 is nearly the same.
FARTHEST = 100 / 224

OPERATIONS: dict[str, Callable[[Image.Image, float], Image.Image]] = {
    "identity": lambda image, strength: identity(image),
    "autocontrast": lambda image, strength: autocontrast(image),
    "equalize": lambda image, strength: equalize(image),
    "rotate": lambda image, strength: rotate(image, 30 * strength),
    "solarize": lambda image, strength: solarize(image, round(256 * (1 - abs(strength)))),
    "color": lambda image, strength: color(image, 1 + 0.9 * strength),
    "posterize": lambda image, strength: posterize(image, 8 - round(4 * abs(strength))),
    "contrast": lambda image, strength: contrast(image, 1 + 0.9 * strength),
    "brightness": lambda image, strength: brightness(image, 1 + 0.9 * strength),
    "sharpness": lambda image, strength: sharpness(image, 1 + 0.9 * strength),
    "shear_x": lambda image, strength: shear_x(image, 0.3 * strength),
    "shear_y": lambda image, strength: shear_y(image, 0.3 * strength),
    "translate_x": lambda image, strength: translate_x(image, FARTHEST * strength),
    "translate_y": lambda image, strength: translate_y(image, FARTHEST * strength),
}


def _gray(image: Image.Image) -> int | tuple[int, int, int]:
    return GRAY if image.mode == "L" else (GRAY, GRAY, GRAY)


def _affine(image: Image.Image, matrix: tuple[float, ...]) -> Image.Image:
    return image.transform(image.size, Image.Transform.AFFINE, matrix, fillcolor=_gray(image))


def _moved(image: Image.Image, right: int, down: int) -> Image.Image:
    moved = Image.new(image.mode, image.size, _gray(image))
    moved.paste(image, (right, down))
    return moved
