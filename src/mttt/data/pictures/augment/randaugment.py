"""Random operations of one strength."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from mttt.data.pictures.augment.operations import OPERATIONS
from mttt.data.pictures.picture import decode

_OPERATIONS = tuple(OPERATIONS.values())


@dataclass(frozen=True)
class RandAugment:
    """`layers` operations in a row, each one of the fourteen, all alike likely (Cubuk et al., 2020).

    `magnitude` is their strength, from 0 to 10. At 10 they rotate by 30°, shear by 0.3, translate by 100/224 of the
    side, keep 4 bits, invert (solarize from 0 on), and enhance by 1 ± 0.9, to either side at random.

    These are the paper's operations. The code of Beyer et al. (2022) has sixteen: at 10, its `invert` and `solarize` do
    what our solarize and identity do, it has `cutout` and `solarize_add` besides, and it enhances by 1.9 only.
    """

    layers: int
    magnitude: int

    def __post_init__(self):
        if self.layers < 0 or not 0 <= self.magnitude <= 10:
            raise ValueError(f"{self}: layers are 0 or more, the magnitude is 0 to 10")

    def __call__(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        decode(image)
        for _ in range(self.layers):
            operation = _OPERATIONS[rng.integers(len(_OPERATIONS))]
            sign = 1 if rng.random() < 0.5 else -1
            image = operation(image, sign * self.magnitude / 10)
        return image
