"""A recipe of augmentation: what varies from one pass over the training images to the next."""

from dataclasses import dataclass
from typing import Literal

from mttt.data.pictures.augment import InceptionCrop, RandAugment, RandomCrop, RandomFlip, Transform
from mttt.fields import FieldError
from mttt.recipes.check import not_negative


@dataclass(frozen=True)
class AugmentRecipe:
    """What varies from one pass over the training images to the next."""

    crop: Literal["none", "pad", "inception"] = "none"
    """pad: the image, moved by up to an eighth of its side; inception: a random part of 5 to 100 % of its area"""
    flip: bool = False
    """mirror every other image"""
    operations: int = 0
    """RandAugment: how many random operations, one after the other"""
    magnitude: int = 10
    """RandAugment: how strong they are, 0 to 10"""

    def __post_init__(self):
        not_negative(2**6, operations=self.operations)
        if not 0 <= self.magnitude <= 10:
            raise FieldError("magnitude", self.magnitude, "must be 0 to 10")

    def build(self, size: int, fit: tuple[Transform, ...]) -> tuple[Transform, ...]:
        """Transforms to squares of this size; `fit` is how an image becomes one without a random crop."""
        crop: dict[str, tuple[Transform, ...]] = {
            "none": fit,
            "pad": (*fit, RandomCrop(size, padding=max(1, size // 8))),
            "inception": (InceptionCrop(size),),
        }
        flip = (RandomFlip(),) if self.flip else ()
        operations = (RandAugment(self.operations, self.magnitude),) if self.operations else ()
        return (*crop[self.crop], *flip, *operations)
