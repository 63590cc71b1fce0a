"""From a view to batches: order, worker processes, and a position that can be saved, by Grain.

Grain hands out the numbers of the examples of whole batches, in an order that only the seed decides; a batch is then
made by one call, in whichever thread or process has time. So batches are the same for any number of workers, and each
of several machines makes its own rows of the same batches.
"""

import os
from collections import deque
from collections.abc import Iterator
from typing import Any

import grain
import jax
import numpy as np

from mttt.data.batch import Batch
from mttt.data.collate import Made, Skipped, collate
from mttt.data.errors import BadExample
from mttt.data.view import View, generator
from mttt.data.workers import Workers


class _Make:
    """Numbers of examples, and a key for each, become a batch. Rows before `begin` and from `end` on are others'."""

    def __init__(self, view: View, begin: int, end: int):
        self.view, self.begin, self.end = view, begin, end

    def __call__(self, numbers: np.ndarray, keys: np.ndarray) -> Made:
        rows = range(self.begin, self.end)
        return collate([self.view.example(int(numbers[row]), generator(int(keys[row]))) for row in rows], self.view)


class Batches:
    """Endless batches, on the device before they are asked for. `get_state` and `set_state` are the position."""

    def __init__(self, stream: Any, view: View, pool: Workers | None = None, ahead: int = 1):
        self._stream, self._view, self._pool, self._ahead = stream, view, pool, ahead
        self._waiting: deque[tuple[Made, Any]] = deque()
        self._state = stream.get_state()
        self.skipped: tuple[Skipped, ...] = ()
        """of the last batch: examples that are not in it"""

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
            made = made._replace(batch=jax.device_put(made.batch))
            self._waiting.append((made, self._stream.get_state()))
        made, state = self._waiting[0]
        if made.skipped and self._view.on_error == "stop":
            raise BadExample(*made.skipped[0])
        self._waiting.popleft()
        self._state, self.skipped = state, made.skipped
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
    """Each epoch in a new order, every example once an epoch; a batch may straddle two epochs.

    Order and augmentation depend on the seed alone. `workers` processes make the batches; with 0, threads of this one
    do. `process` = (i, count) makes the i-th part of every batch.
    """
    examples = len(view)
    if not 1 <= batch_size <= examples:
        raise ValueError(f"batch_size={batch_size}: there are {examples} training examples; take 1 to {examples}")
    index, count = process
    if not 0 <= index < count or batch_size % count:
        raise ValueError(f"process {index} of {count}: {count} processes must share a batch of {batch_size} evenly")
    share = batch_size // count
    make = _Make(view, index * share, (index + 1) * share)
    pool = Workers(make, workers) if workers else None

    def draw(numbers: np.ndarray, rng: np.random.Generator) -> Made:
        # A key for every row: what happens to an example does not depend on which process makes it.
        return (pool or make)(numbers, rng.integers(2**63, size=batch_size))

    numbers: Any = grain.MapDataset.range(examples).seed(seed).shuffle().repeat()
    made = numbers.batch(batch_size, drop_remainder=True).random_map(draw)
    threads = workers or 2  # a thread waits for each worker
    stream = made.to_iter_dataset(grain.ReadOptions(num_threads=threads, prefetch_buffer_size=threads + 2))
    return Batches(stream.__iter__(), view, pool)


class EvaluationBatches:
    """Every example once, in order. The last batch is filled up with rows of weight 0, so that all have one shape."""

    def __init__(self, view: View, batch_size: int):
        self.view, self.batch_size = view, min(batch_size, len(view))
        self.skipped: list[Skipped] = []
        """of the batches so far"""

    def _make(self, start: int) -> Made:
        numbers = range(start, min(start + self.batch_size, len(self.view)))
        rng = np.random.default_rng(0)  # for transforms that draw; evaluation has none
        return collate([self.view.example(number, rng) for number in numbers], self.view, size=self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        self.skipped = []
        starts: Any = grain.MapDataset.range(0, len(self.view), self.batch_size)
        # Threads are enough here: what takes time, as Pillow's decoding does, runs without Python's lock.
        threads = min(max(2, len(os.sched_getaffinity(0))), 16)
        options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=threads + 2)
        for made in starts.map(self._make).to_iter_dataset(options):
            if made.skipped and self.view.on_error == "stop":
                raise BadExample(*made.skipped[0])
            self.skipped += made.skipped
            yield made.batch
