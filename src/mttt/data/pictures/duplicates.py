"""The same image twice, where it would make an evaluation look better than it is."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int32, Int64

from mttt.data.errors import BadExample
from mttt.data.pictures.splits import Found


@runtime_checkable
class Stored(Protocol):
    """A source that can show the bytes it has stored."""

    @property
    def labels(self) -> Int32[np.ndarray, " n"]: ...
    def __len__(self) -> int: ...
    def name(self, index: int) -> str: ...
    def read(self, index: int) -> bytes: ...
    def sizes(self) -> Int64[np.ndarray, " n"] | None: ...


class Pair(NamedTuple):
    """Names of two images with the same bytes, and whether their classes are the same too."""

    one: str
    other: str
    same_class: bool


class Duplicates(NamedTuple):
    """What was found, and how many images were looked for; 0 if nobody looked."""

    pairs: list[Pair]
    searched: int
    of: int


def spread(total: int, limit: int | None) -> list[int]:
    """At most `limit` of the numbers below `total`, evenly spread."""
    if limit is None or total <= limit:
        return list(range(total))
    return [i * total // limit for i in range(limit)]


def find_duplicates(found: Found, limit: int | None, progress: Callable[[int, int], None]) -> Duplicates:
    """Evaluation images that are among the training images; in a set without a split, images that are there twice.

    At most `limit` images are looked for, among all others of the same size in bytes. Where sizes are not known
    without reading everything (parquet), that is done for sets of at most `limit` images only.
    """
    needles, hay = found.evaluation or found.train, found.train
    if not isinstance(needles, Stored) or not isinstance(hay, Stored):
        return Duplicates([], 0, len(needles))
    wanted = np.array(spread(len(needles), limit), np.int64)
    needle_sizes, hay_sizes = needles.sizes(), hay.sizes()
    if needle_sizes is None or hay_sizes is None:
        if limit is not None and len(hay) > limit:
            return Duplicates([], 0, len(needles))
        candidates = np.arange(len(hay))
    else:
        wanted = wanted[needle_sizes[wanted] > 0]
        candidates = np.flatnonzero(np.isin(hay_sizes, needle_sizes[wanted]))
    if needles is hay and needle_sizes is not None:  # a size that only one image has needs no reading
        sizes, counts = np.unique(needle_sizes, return_counts=True)
        shared = sizes[counts > 1]
        wanted, candidates = (some[np.isin(needle_sizes[some], shared)] for some in (wanted, candidates))
    known: dict[bytes, int] = {}
    for index in wanted.tolist():
        if digest := _digest(needles, index):
            known.setdefault(digest, index)
    pairs = []
    for done, index in enumerate(candidates.tolist()):
        progress(done, len(candidates))
        other = known.get(_digest(hay, index) or b"")
        if other is not None and not (needles is hay and other == index):
            same = bool(needles.labels[other] == hay.labels[index])
            pairs.append(Pair(needles.name(other), hay.name(index), same))
    return Duplicates(pairs, min(len(needles), limit or len(needles)), len(needles))


def _digest(source: Stored, index: int) -> bytes | None:
    try:
        data = source.read(index)
    except (OSError, BadExample):  # the check of the images says so
        return None
    return hashlib.blake2b(data, digest_size=16).digest() if data else None
