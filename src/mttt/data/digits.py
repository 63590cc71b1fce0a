"""The handwritten digits that ship with the package."""

from importlib.resources import files

import numpy as np

from mttt.data.source import DataSet, Example, hold_out


class Digits:
    """8×8 images of one channel. The stored integers 0…16 are scaled to 0…255, like any other image."""

    def __init__(self, *, test: bool):
        with (files("mttt.data") / "files" / "digits.npz").open("rb") as file, np.load(file) as arrays:
            rows = arrays["test"] == test
            self.images = np.round(arrays["images"][rows] * (255 / 16)).astype(np.uint8)[..., None]
            self.labels = arrays["labels"][rows].astype(np.int32)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Example:
        return Example(self.images[index], int(self.labels[index]))


def load_digits(*, holdout: float = 0.0) -> DataSet:
    """1437 images to train on and 360 to test on; with `holdout`, that part of the 1437 replaces the test images."""
    train = Digits(test=False)
    learn, evaluate = hold_out(train, holdout) if holdout else (train, Digits(test=True))
    return DataSet(learn, evaluate, tuple("0123456789"), (8, 8, 1), "held-out" if holdout else "test")
