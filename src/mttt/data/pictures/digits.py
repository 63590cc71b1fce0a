"""The handwritten digits that ship with the package."""

from importlib.resources import files

import numpy as np

from mttt.data.pictures.arrays import Arrays
from mttt.data.pictures.splits import Splits, split_training

SHAPE = (8, 8, 1)
CLASSES = tuple("0123456789")


class Digits(Arrays):
    """8×8 images of one channel. The stored integers 0…16 are scaled to 0…255, like any other image."""

    def __init__(self, *, test: bool):
        with (files("mttt.data.pictures") / "files" / "digits.npz").open("rb") as file, np.load(file) as arrays:
            rows = arrays["test"] == test
            images = np.round(arrays["images"][rows] * (255 / 16)).astype(np.uint8)[..., None]
            super().__init__(images, arrays["labels"][rows].astype(np.int32), ("test" if test else "train",))


def load_digits(*, holdout: float = 0.0) -> Splits:
    """1437 images to train on and 360 to test on; with `holdout`, that part of the 1437 replaces the test images."""
    train = Digits(test=False)
    if holdout:
        return split_training(train, CLASSES, SHAPE, holdout=holdout)
    return Splits(train, Digits(test=True), CLASSES, "test", SHAPE)
