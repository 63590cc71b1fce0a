"""Where examples come from."""

from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Int, Int32

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@runtime_checkable
class Source(Protocol[T_co]):
    """Random access to labelled examples as they are stored.

    A source can be pickled for worker processes, and read by several threads; files are opened when they are read.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> T_co:
        """The example as its kind keeps it, or BadExample if it cannot be opened."""
        ...

    def name(self, index: int) -> str:
        """What to call the example in messages."""
        ...

    @property
    def labels(self) -> Int32[np.ndarray, " n"]:
        """All labels, without opening any example."""
        ...


class Subset(Generic[T]):
    """Some of the examples of a source."""

    def __init__(self, source: Source[T], indices: Int[np.ndarray, " n"]):
        self.source, self.indices = source, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> T:
        return self.source[int(self.indices[index])]

    def name(self, index: int) -> str:
        return self.source.name(int(self.indices[index]))

    @property
    def labels(self) -> Int32[np.ndarray, " n"]:
        return self.source.labels[self.indices]


def hold_out(source: Source[T], fraction: float, *, seed: int = 0) -> tuple[Subset[T], Subset[T]]:
    """Split a source in two, the second with about `fraction` of every class: examples to make choices with."""
    if not 0 < fraction < 1:
        raise ValueError(f"holdout={fraction}: take a number between 0 and 1")
    labels = source.labels
    rng = np.random.default_rng(seed)
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        held[rng.permutation(members)[: round(fraction * len(members))]] = True
    if held.all() or not held.any():
        what, change = ("train", "smaller") if held.all() else ("evaluate", "larger")
        raise ValueError(
            f"holdout={fraction} of every class of {len(labels)} examples leaves none to {what} on; take a {change} one"
        )
    return Subset(source, np.flatnonzero(~held)), Subset(source, np.flatnonzero(held))
