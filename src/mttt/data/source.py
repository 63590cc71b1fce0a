"""Where images come from."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, Int32, UInt8
from PIL import Image


class Item(NamedTuple):
    """One labelled image, opened but not decoded."""

    image: Image.Image
    label: int


class Example(NamedTuple):
    """One labelled image as a model wants it: what comes out of the transforms."""

    image: UInt8[np.ndarray, "h w c"]
    label: int


@runtime_checkable
class Source(Protocol):
    """Random access to labelled images: all that the pipeline needs of a data set.

    A source can be pickled for worker processes, and read by several threads; files are opened when they are read.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Item:
        """The image, or BadImage if it cannot be opened."""
        ...

    def name(self, index: int) -> str:
        """What to call the image in messages."""
        ...

    @property
    def labels(self) -> Int32[np.ndarray, " n"]:
        """All labels, without opening any image."""
        ...


class Subset:
    """Some of the examples of a source."""

    def __init__(self, source: Source, indices: Int[np.ndarray, " n"]):
        self.source, self.indices = source, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Item:
        return self.source[int(self.indices[index])]

    def name(self, index: int) -> str:
        return self.source.name(int(self.indices[index]))

    @property
    def labels(self) -> Int32[np.ndarray, " n"]:
        return self.source.labels[self.indices]


def hold_out(source: Source, fraction: float, *, seed: int = 0) -> tuple[Subset, Subset]:
    """Split a source in two, the second with about `fraction` of every class: images to make choices with."""
    if not 0 < fraction < 1:
        raise ValueError(f"holdout={fraction}: take a number between 0 and 1")
    labels = source.labels
    rng = np.random.default_rng(seed)
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        held[rng.permutation(members)[: round(fraction * len(members))]] = True
    if held.all() or not held.any():
        raise ValueError(
            f"holdout={fraction} of {len(labels)} images leaves none to {'train' if held.all() else 'evaluate'} on"
        )
    return Subset(source, np.flatnonzero(~held)), Subset(source, np.flatnonzero(held))
