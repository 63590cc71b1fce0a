"""A source as a model sees it: images of one shape."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from mttt.data.augment import Transform, apply
from mttt.data.errors import BadImage
from mttt.data.source import Example, Source

OnError = Literal["stop", "skip"]


@dataclass(frozen=True)
class View:
    """A source, the transforms that every image of it goes through, and what to do with one that cannot be used."""

    source: Source
    transforms: tuple[Transform, ...]
    shape: tuple[int, int, int]
    on_error: OnError = "stop"

    def __len__(self) -> int:
        return len(self.source)

    def example(self, index: int, rng: np.random.Generator) -> Example | BadImage:
        """The image, transformed; or what is wrong with it."""
        try:
            item = self.source[index]
            image = apply(self.transforms, item.image, rng, shape=self.shape, name=self.source.name(index))
            return Example(image, item.label)
        except BadImage as bad:
            return bad


class DataSet(NamedTuple):
    """What to train on, what to evaluate on, and what the labels mean."""

    train: View
    evaluation: View
    classes: tuple[str, ...]
    evaluation_name: str  # "test", "validation" or "held-out", for people

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels of what the model gets."""
        return self.train.shape


def generator(key: int) -> np.random.Generator:
    """Random numbers for one image, quick to start: there is one for each row of each batch."""
    return np.random.Generator(np.random.Philox(key=key))
