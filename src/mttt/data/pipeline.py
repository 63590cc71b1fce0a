"""From a view to batches: order, worker processes, and a position that can be saved, by Grain.

Grain hands out the numbers of the examples of whole batches, in an order that only the seed decides; a batch is then
made by one call, in whichever thread or process has time. So batches are the same for any number of workers, and each
of several machines makes its own rows of the same batches.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import grain
import jax
import numpy as np

from mttt.data.batch import Batch
from mttt.data.collate import Made, Skipped, collate
from mttt.data.errors import BadExample
from mttt.data.view import View, generator
from mttt.data.workers import Workers

Put = Callable[[Any], Any]


class _Make:
    """Numbers of examples, and a key for each, become a batch. Rows that are not in `rows` are others'."""

    def __init__(self, view: View, rows: range):
        self.view, self.rows = view, rows

    def __call__(self, numbers: np.ndarray, keys: np.ndarray) -> Made:
        made = [self.view.example(int(numbers[row]), generator(int(keys[row]))) for row in self.rows]
        return collate(made, self.view)


class Batches:
    """Endless batches, on the device before they are asked for. `get_state` and `set_state` are the position."""

    def __init__(self, stream: Any, view: View, pool: Workers | None = None, *, put: Put = jax.device_put):
        self._stream, self._view, self._pool, self._put = stream, view, pool, put
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

    def make_ready(self, count: int = 1) -> None:
        """Have the next batches there; the error of the next one, if it has one that ends the training."""
        while len(self._waiting) < count:
            made = next(self._stream)
            made = made._replace(batch=self._put(made.batch))
            self._waiting.append((made, self._stream.get_state()))
        skipped = self._waiting[0][0].skipped
        if skipped and self._view.on_error == "stop":
            raise BadExample(*skipped[0])

    @property
    def next_skipped(self) -> tuple[Skipped, ...]:
        """Of the next batch, which is ready."""
        return self._waiting[0][0].skipped

    def __next__(self) -> Batch:
        self.make_ready(2)
        made, state = self._waiting.popleft()
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
    view: View,
    batch_size: int,
    *,
    seed: int,
    workers: int = 0,
    rows: range | None = None,
    put: Put = jax.device_put,
) -> Batches:
    """Each epoch in a new order, every example once an epoch; a batch may straddle two epochs.

    Order and augmentation depend on the seed alone. `workers` processes make the batches; with 0, threads of this one
    do. `rows` are those of every batch that this process makes, by default all, and `put` brings them to the devices.
    """
    examples = len(view)
    if not 1 <= batch_size <= examples:
        raise ValueError(f"batch_size={batch_size}: there are {examples} training examples; take 1 to {examples}")
    rows = range(batch_size) if rows is None else rows
    if not rows or rows[0] < 0 or rows[-1] >= batch_size:
        raise ValueError(f"rows={rows}: a batch has the rows 0 to {batch_size - 1}")
    make = _Make(view, rows)
    pool = Workers(make, workers) if workers else None

    def draw(numbers: np.ndarray, rng: np.random.Generator) -> Made:
        # A key for every row: what happens to an example does not depend on which process makes it.
        return (pool or make)(numbers, rng.integers(2**63, size=batch_size))

    numbers: Any = grain.MapDataset.range(examples).seed(seed).shuffle().repeat()
    made = numbers.batch(batch_size, drop_remainder=True).random_map(draw)
    threads = workers or 2  # a thread waits for each worker
    stream = made.to_iter_dataset(grain.ReadOptions(num_threads=threads, prefetch_buffer_size=threads + 2))
    return Batches(stream.__iter__(), view, pool, put=put)


class EvaluationBatches:
    """Every example once, in order. The last batch is filled up with rows of weight 0, so that all have one shape."""

    def __init__(self, view: View, batch_size: int, *, own: Callable[[int], range] = range, parts: int = 1):
        """`own` gives the rows of a batch of some size that this process makes; the size is a multiple of `parts`.

        With others that make the other rows, nobody stops alone: what is wrong is raised after the last batch.
        """
        self.view, self.batch_size = view, -(-min(batch_size, len(view)) // parts) * parts
        self._rows = own(self.batch_size)
        self.skipped: list[Skipped] = []
        """of the batches so far"""

    @property
    def shared(self) -> bool:
        """Do other processes make the other rows?"""
        return len(self._rows) < self.batch_size

    def _make(self, start: int) -> Made:
        numbers = [start + row for row in self._rows if start + row < len(self.view)]
        rng = np.random.default_rng(0)  # for transforms that draw; evaluation has none
        return collate([self.view.example(number, rng) for number in numbers], self.view, size=len(self._rows))

    def __iter__(self) -> Iterator[Batch]:
        self.skipped = []
        starts: Any = grain.MapDataset.range(0, len(self.view), self.batch_size)
        # Threads are enough here: what takes time, as Pillow's decoding does, runs without Python's lock.
        threads = min(max(2, len(os.sched_getaffinity(0))), 16)
        options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=threads + 2)
        bad = None
        for made in starts.map(self._make).to_iter_dataset(options):
            if made.skipped and self.view.on_error == "stop":
                bad = bad or BadExample(*made.skipped[0])
                if not self.shared:
                    raise bad
            self.skipped += made.skipped
            yield made.batch
        if bad is not None:
            raise bad
