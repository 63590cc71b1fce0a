"""Parts of pictures."""

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image

from mttt.data.pictures.augment.resize import check_sides, scaled
from mttt.data.pictures.picture import Unusable

TRIES = 10


@dataclass(frozen=True)
class InceptionCrop:
    """A random box of the picture, scaled to size × size (Szegedy et al., 2015).

    The box is drawn as the recipe of Beyer et al. (2022) draws it, through TensorFlow's
    `sample_distorted_bounding_box`: the aspect, width / height, uniformly; then the height, uniformly among those with
    which the box has an allowed area and lies inside the picture; then the place. (Torchvision draws the logarithm of
    the aspect and the area uniformly, which gives larger boxes.) Where ten aspects allow no box, as in a panorama, it
    is the whole picture. Shrinking averages, as Pillow does; TensorFlow's does not.
    """

    size: int
    area: tuple[float, float] = (0.05, 1.0)  # of the picture's
    aspect: tuple[float, float] = (3 / 4, 4 / 3)

    def __post_init__(self):
        check_sides(self, self.size)
        if not 0 < self.area[0] <= self.area[1] <= 1 or not 0 < self.aspect[0] <= self.aspect[1]:
            raise ValueError(f"{self}: give the smaller bound first; areas are parts of 1, aspects more than 0")

    def box(self, width: int, height: int, rng: np.random.Generator) -> tuple[int, int, int, int]:
        """Left, top, right, bottom of a random box in a picture of this size."""
        for _ in range(TRIES):
            aspect = rng.uniform(*self.aspect)
            low, high = (math.sqrt(area * width * height / aspect) for area in self.area)
            low, high = math.ceil(low), math.floor(min(high, height, width / aspect))
            if low <= high:
                rows = int(rng.integers(low, high, endpoint=True))
                columns = max(1, round(rows * aspect))
                left = int(rng.integers(0, width - columns, endpoint=True))
                top = int(rng.integers(0, height - rows, endpoint=True))
                return left, top, left + columns, top + rows
        return 0, 0, width, height

    def __call__(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        return scaled(image, (self.size, self.size), self.box(*image.size, rng))


@dataclass(frozen=True)
class CentreCrop:
    """The middle, size × size."""

    size: int

    def __post_init__(self):
        check_sides(self, self.size)

    def __call__(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        left, top = ((side - self.size) // 2 for side in image.size)
        return _cut(image, left, top, self.size)


@dataclass(frozen=True)
class RandomCrop:
    """Any size × size part of the picture after `padding` black pixels were put on each side."""

    size: int
    padding: int = 0

    def __post_init__(self):
        check_sides(self, self.size)
        if self.padding < 0:
            raise ValueError(f"{self}: padding is 0 or more")

    def __call__(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        slack = [side + 2 * self.padding - self.size for side in image.size]
        left, top = (int(rng.integers(0, max(0, most), endpoint=True)) - self.padding for most in slack)
        return _cut(image, left, top, self.size, padding=self.padding)


def _cut(image: Image.Image, left: int, top: int, size: int, *, padding: int = 0) -> Image.Image:
    if min(image.size) + 2 * padding < size:
        raise Unusable(f"is {image.width}×{image.height}, too small to cut {size}×{size} out of; scale it up first")
    return image.crop((left, top, left + size, top + size))  # black where there is no picture
