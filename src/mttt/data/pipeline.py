"""From a view to batches: order, worker processes, and a position that can be saved, by Grain.

Grain hands out the numbers of the images of whole batches, in an order that only the seed decides; a batch is then made
by one call, in whichever thread or process has time. So batches are the same for any number of workers, and each of
several machines makes its own rows of the same batches.
"""

import os
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import grain
import jax
import numpy as np

from mttt.data.batch import Batch
from mttt.data.errors import BadImage
from mttt.data.source import Example
from mttt.data.view import View, generator
from mttt.data.workers import Workers


class Problem(NamedTuple):
    """An image that could not be used."""

    name: str
    reason: str


class Made(NamedTuple):
    """A batch, and the images that are missing in it."""

    batch: Batch
    problems: tuple[Problem, ...]


class _Make:
    """Numbers of images, and a key for each, become a batch. Rows before `begin` and from `end` on are others'."""

    def __init__(self, view: View, begin: int, end: int):
        self.view, self.begin, self.end = view, begin, end

    def __call__(self, numbers: np.ndarray, keys: np.ndarray) -> Made:
        rows = range(self.begin, self.end)
        return _collate([self.view.example(int(numbers[row]), generator(int(keys[row]))) for row in rows], self.view)


def _collate(rows: list[Example | BadImage], view: View) -> Made:
    """A row whose image cannot be used repeats another one, with weight 0."""
    problems = tuple(Problem(row.name, row.reason) for row in rows if isinstance(row, BadImage))
    good = [row for row in rows if isinstance(row, Example)]
    filler = good[0] if good else Example(np.zeros(view.shape, np.uint8), 0)
    examples = [row if isinstance(row, Example) else filler for row in rows]
    batch = Batch(
        np.stack([example.image for example in examples]),
        np.array([example.label for example in examples], np.int32),
        np.array([isinstance(row, Example) for row in rows], np.float32),
    )
    return Made(batch, problems)


class Batches:
    """Endless batches, on the device before they are asked for. `get_state` and `set_state` are the position."""

    def __init__(self, stream: Any, view: View, pool: Workers | None = None, ahead: int = 1):
        self._stream, self._view, self._pool, self._ahead = stream, view, pool, ahead
        self._waiting: deque[tuple[Made, Any]] = deque()
        self._state = stream.get_state()
        self.problems: tuple[Problem, ...] = ()
        """of the last batch: images that are not in it"""

    def __enter__(self) -> "Batches":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        self._waiting.clear()
        self._stream.close()
        if self._pool is not None:
            self._pool.close()

    def __next__(self) -> Batch:
        while len(self._waiting) <= self._ahead:
            made = next(self._stream)
            made = made._replace(batch=Batch(*map(jax.device_put, made.batch)))
            self._waiting.append((made, self._stream.get_state()))
        made, state = self._waiting[0]
        if made.problems and self._view.on_error == "stop":
            raise BadImage(*made.problems[0])
        self._waiting.popleft()
        self._state, self.problems = state, made.problems
        return made.batch

    def get_state(self) -> Any:
        """Where the batch after the last one begins."""
        return self._state

    def set_state(self, state: Any) -> None:
        self._waiting.clear()
        self._stream.set_state(state)
        self._state = state


def training_batches(
    view: View, batch_size: int, *, seed: int, workers: int = 0, process: tuple[int, int] = (0, 1)
) -> Batches:
    """Each epoch in a new order, every image once an epoch; a batch may straddle two epochs.

    Order and augmentation depend on the seed alone. `workers` processes make the batches; with 0, threads of this one
    do. `process` = (i, count) makes the i-th part of every batch.
    """
    images = len(view)
    if not 1 <= batch_size <= images:
        raise ValueError(f"batch_size={batch_size}: there are {images} training images; take 1 to {images}")
    index, count = process
    if not 0 <= index < count or batch_size % count:
        raise ValueError(f"process {index} of {count}: {count} processes must share a batch of {batch_size} evenly")
    share = batch_size // count
    make = _Make(view, index * share, (index + 1) * share)
    pool = Workers(make, workers) if workers else None

    def draw(numbers: np.ndarray, rng: np.random.Generator) -> Made:
        # A key for every row: what happens to an image does not depend on which process makes it.
        return (pool or make)(numbers, rng.integers(2**63, size=batch_size))

    numbers: Any = grain.MapDataset.range(images).seed(seed).shuffle().repeat()
    made = numbers.batch(batch_size, drop_remainder=True).random_map(draw)
    threads = workers or 2  # a thread waits for each worker
    stream = made.to_iter_dataset(grain.ReadOptions(num_threads=threads, prefetch_buffer_size=threads + 2))
    return Batches(stream.__iter__(), view, pool)


class EvaluationBatches:
    """Every image once, in order. The last batch is filled up with rows of weight 0, so that all have one shape."""

    def __init__(self, view: View, batch_size: int):
        self.view, self.batch_size = view, min(batch_size, len(view))
        self.problems: list[Problem] = []
        """of the batches so far"""

    def _make(self, start: int) -> Made:
        numbers = range(start, min(start + self.batch_size, len(self.view)))
        rng = np.random.default_rng(0)  # for transforms that draw; evaluation has none
        made = _collate([self.view.example(number, rng) for number in numbers], self.view)
        missing = self.batch_size - len(numbers)
        filled = Batch(*(np.concatenate([a, np.zeros((missing, *a.shape[1:]), a.dtype)]) for a in made.batch))
        return made._replace(batch=filled)

    def __iter__(self) -> Iterator[Batch]:
        self.problems = []
        starts: Any = grain.MapDataset.range(0, len(self.view), self.batch_size)
        # Pillow decodes and scales without Python's lock, so threads are enough here.
        threads = min(max(2, len(os.sched_getaffinity(0))), 16)
        options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=threads + 2)
        for made in starts.map(self._make).to_iter_dataset(options):
            if made.problems and self.view.on_error == "stop":
                raise BadImage(*made.problems[0])
            self.problems += made.problems
            yield made.batch


def evaluation_batches(view: View, batch_size: int) -> EvaluationBatches:
    """The batches of one pass over the images."""
    return EvaluationBatches(view, batch_size)
