"""Left and right swapped."""

from dataclasses import dataclass

import numpy as np
from PIL import Image


@dataclass(frozen=True)
class RandomFlip:
    """Every second picture mirrored, at random."""

    def __call__(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.random() < 0.5 else image
