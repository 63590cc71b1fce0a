"""How fast several processes make batches together, each its own rows of the same stream."""

import multiprocessing
import os
import time
from contextlib import suppress
from typing import Any

from mttt.data import View, training_batches


def _as_it_is(batch: Any) -> Any:
    return batch


class Shares:
    """Processes as a training has them, without devices: each makes its part of every batch."""

    def __init__(self, view: View, batch_size: int, *, processes: int, workers: int):
        self.batch_size, self._ends, self._processes = batch_size, [], []
        context = multiprocessing.get_context("spawn")
        for number in range(processes):
            rows = range(number * batch_size // processes, (number + 1) * batch_size // processes)
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, view, batch_size, rows, workers))
            process.start()
            there.close()
            self._ends.append(here)
            self._processes.append(process)
        self._all()

    def _all(self, *asked: float) -> list[float]:
        """Everybody's answer, to a question if there is one."""
        for end in self._ends:
            if asked:
                end.send(asked[0])
        return [end.recv() for end in self._ends]

    def rate(self, seconds: float) -> float:
        """Images a second of all together: a batch is there when its last part is."""
        self._all(0.0)  # what waited in buffers since the last time
        return self.batch_size * min(self._all(seconds))

    def close(self) -> None:
        for end in self._ends:
            end.send(None)
        for process in self._processes:
            process.join()

    def __enter__(self) -> "Shares":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(end: Any, view: View, batch_size: int, rows: range, workers: int) -> None:
    """One process. It ends at once: a process of `multiprocessing` would wait for workers, and they for it."""
    with suppress(EOFError):
        _answer(end, view, batch_size, rows, workers)
    os._exit(0)


def _answer(end: Any, view: View, batch_size: int, rows: range, workers: int) -> None:
    """Batches a second, as often as it is asked."""
    with training_batches(view, batch_size, seed=0, workers=workers, rows=rows, put=_as_it_is) as batches:
        end.send(0.0)
        while (seconds := end.recv()) is not None:
            if not seconds:
                for _ in range(8 * max(workers, 1)):
                    next(batches)
                end.send(0.0)
                continue
            start, made = time.perf_counter(), 0
            while (elapsed := time.perf_counter() - start) < seconds:
                next(batches)
                made += 1
            end.send(made / elapsed)
