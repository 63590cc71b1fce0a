"""Two digits in opposite corners of a canvas: are they the same? Pictures in which far pixels must be related."""

import numpy as np
from PIL import Image

from mttt.data.pictures.digits import CLASSES as DIGITS, Digits
from mttt.data.pictures.source import Item
from mttt.data.pictures.splits import Splits

CELL = 8
SIDE = 2 * CELL
"""of the smallest canvas"""
CLASSES = ("different", "same")
TRAIN, TEST = 65_536, 4_096


class Pairs:
    """Pictures of side × side, drawn when they are asked for. Each is a function of its index and the seed.

    A handwritten digit of 8×8 is in the upper left corner, another in the lower right one, and nothing else is there.
    On the smallest canvas they touch; the larger it is, the farther are they apart. Every second picture has two
    digits of one class, never the same one twice. The digits that are tested with are in no picture that is trained on.
    """

    def __init__(self, side: int, *, test: bool, seed: int):
        if side < SIDE:
            raise ValueError(f"side={side}: take {SIDE} or more, twice the side of a digit")
        self.side, self.test, self.seed = side, test, seed
        self.labels = (np.arange(TEST if test else TRAIN) % 2).astype(np.int32)
        digits = Digits(test=test)
        self._digits = [digits.images[digits.labels == label, :, :, 0] for label in range(len(DIGITS))]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Item:
        rng, label = np.random.default_rng((self.seed, self.test, index)), int(self.labels[index])
        first = int(rng.integers(len(DIGITS)))
        second = first if label else (first + int(rng.integers(1, len(DIGITS)))) % len(DIGITS)
        canvas = np.zeros((self.side, self.side), np.uint8)
        one = int(rng.integers(len(self._digits[first])))
        other = int(rng.integers(len(self._digits[second]) - label))
        other += label and other >= one  # any but the first
        canvas[:CELL, :CELL], canvas[-CELL:, -CELL:] = self._digits[first][one], self._digits[second][other]
        return Item(Image.fromarray(canvas), label)

    def name(self, index: int) -> str:
        return f"pair {index} to {'test with' if self.test else 'train on'}, seed {self.seed}"

    def read(self, index: int) -> bytes:
        """The pixels as bytes."""
        return self[index].image.tobytes()

    def sizes(self) -> np.ndarray:
        """How many bytes each picture has."""
        return np.full(len(self), self.side**2, np.int64)


def load_pairs(side: int = SIDE, *, seed: int = 0) -> Splits:
    """Pictures of pairs of the digits that ship with the package, to train on and to test with."""
    train, test = (Pairs(side, test=test, seed=seed) for test in (False, True))
    return Splits(train, test, CLASSES, "test", (side, side, 1))
