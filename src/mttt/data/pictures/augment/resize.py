"""Other sizes."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from mttt.data.pictures.picture import decode, least_reduction

_LONGEST = 50_000_000  # pixels that a strip may have after it was scaled


def scaled(image: Image.Image, size: tuple[int, int], box: tuple[int, int, int, int] | None = None) -> Image.Image:
    """A box of the picture, or all of it, in (width, height): bilinear, averaging where it shrinks.

    A JPEG that is not decoded yet is decoded at 1/2, 1/4 or 1/8 of its size, if the box is still at least as large as
    the result then: most of the work is never done.
    """
    left, top, right, bottom = box or (0, 0, *image.size)
    fits = min((right - left) // size[0], (bottom - top) // size[1])
    part = max(next((part for part in (8, 4, 2) if part <= fits), 1), least_reduction(image))
    if part > 1 and image.draft(None, (image.width // part, image.height // part)) is None:
        part = 1  # decoded before, or no JPEG
    decode(image)
    inside = (left / part, top / part, right / part, bottom / part)
    return image.resize(size, Image.Resampling.BILINEAR, box=inside, reducing_gap=2.0)


def check_sides(transform: object, *sides: int) -> None:
    """Refuse to make pictures without pixels."""
    if min(sides) < 1:
        raise ValueError(f"{transform}: sizes are 1 or more")


@dataclass(frozen=True)
class Resize:
    """To size × size, whatever the aspect was."""

    size: int

    def __post_init__(self):
        check_sides(self, self.size)

    def __call__(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        return image if image.size == (self.size, self.size) else scaled(image, (self.size, self.size))


@dataclass(frozen=True)
class ResizeShortSide:
    """The short side to `size`, the other one in proportion."""

    size: int

    def __post_init__(self):
        check_sides(self, self.size)

    def __call__(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        if self._strip(*image.size) is not None:
            decode(image)  # which may make it smaller
            image = image.crop(self._strip(*image.size))
        short = min(image.size)
        width, height = (max(1, round(side * self.size / short)) for side in image.size)
        return image if image.size == (width, height) else scaled(image, (width, height))

    def _strip(self, width: int, height: int) -> tuple[int, int, int, int] | None:
        """The middle of a strip so long that it would not fit the memory; None for all other pictures."""
        short = min(width, height)
        longest = max(1, short * _LONGEST // self.size**2)
        if max(width, height) <= longest:
            return None
        wide, high = min(width, longest), min(height, longest)
        left, top = (width - wide) // 2, (height - high) // 2
        return left, top, left + wide, top + high
