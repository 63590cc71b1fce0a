"""Where images come from."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import UInt8


class Example(NamedTuple):
    """One labelled image."""

    image: UInt8[np.ndarray, "h w c"]
    label: int


@runtime_checkable
class Source(Protocol):
    """Random access to labelled images: all that the pipeline needs of a data set."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Example: ...

    @property
    def labels(self) -> Sequence[int] | np.ndarray:
        """All labels, without decoding any image."""
        ...


class Subset:
    """Some of the examples of a source."""

    def __init__(self, source: Source, indices: np.ndarray):
        self.source, self.indices = source, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Example:
        return self.source[int(self.indices[index])]

    @property
    def labels(self) -> np.ndarray:
        return np.asarray(self.source.labels)[self.indices]


class DataSet(NamedTuple):
    """What to train on, what to evaluate on, and what the labels mean."""

    train: Source
    evaluation: Source
    classes: tuple[str, ...]
    image_shape: tuple[int, int, int]
    evaluation_name: str  # "test" or "held-out", for people


def hold_out(source: Source, fraction: float, *, seed: int = 0) -> tuple[Source, Source]:
    """Split a source in two, the second with about `fraction` of every class: images to make choices with."""
    labels = np.asarray(source.labels)
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
