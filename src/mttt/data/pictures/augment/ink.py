"""Dark ink on light paper, as a model of light digits on black knows it."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from mttt.data.pictures.upright import in_channels


@dataclass(frozen=True)
class Ink:
    """What is dark in a picture, light on black, in a square with `margin` of its longer side around it.

    Paper is what most pixels are. It becomes black, and the darkest pixel white, so that grey paper and pale ink do not
    matter. A picture of one colour has no ink, and becomes black.
    """

    margin: float = 1 / 16

    def __call__(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        grey = in_channels(image, 1)
        counts = np.asarray(grey.histogram())
        paper = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
        darkest = int(np.flatnonzero(counts)[0])
        light = 255 * (paper - np.arange(256)) / max(1, paper - darkest)
        ink = grey.point(light.clip(0, 255).round().astype(int).tolist())
        box = ink.point([0] * 128 + [255] * 128).getbbox()
        if box is None:
            return ink
        left, top, right, bottom = box
        side = round((1 + 2 * self.margin) * max(right - left, bottom - top))
        left, top = (left + right - side) // 2, (top + bottom - side) // 2
        return ink.crop((left, top, left + side, top + side))  # black where there is no picture
