"""How fast batches come: a pipeline that is slower than the training step would be the bottleneck."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mttt.bench.measure import machine
from mttt.data import Batches, training_batches
from mttt.data.pictures import PictureView, find_data, load_digits
from mttt.data.pictures.augment import InceptionCrop, RandAugment, RandomFlip

SIZE = 224
SECONDS = 2.0  # of each measurement


def pictures_view(path: Path) -> PictureView:
    """The pictures at `path` as the paper's recipe for patches trains on them."""
    return PictureView(find_data(path).train, (InceptionCrop(SIZE), RandomFlip(), RandAugment(2, 10)), (SIZE, SIZE, 3))


def digits_view() -> PictureView:
    """The digits that ship with the package, as they are."""
    return PictureView(load_digits().train, (), (8, 8, 1))


def data_bench(
    view: PictureView,
    *,
    workers: tuple[int, ...] = (1, 2),
    repeats: int = 7,
    batch_size: int = 32,
    say: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Images a second through the training pipeline, for each number of worker processes; 0 is threads."""
    say("starting workers")
    rates: dict[int, list[float]] = {count: [] for count in workers}
    with ExitStack() as stack:
        streams = {n: stack.enter_context(training_batches(view, batch_size, seed=0, workers=n)) for n in workers}
        _measure(streams, rates, repeats, batch_size, say)
    rows = [{"workers": count, "images_per_second": max(each), "rounds": each} for count, each in rates.items()]
    return {"rows": rows, "images": len(view), "shape": view.shape, "repeats": repeats, **machine()}


def _measure(
    streams: dict[int, Batches],
    rates: dict[int, list[float]],
    repeats: int,
    batch_size: int,
    say: Callable[[str], None],
) -> None:
    for done in range(repeats):
        for count, batches in streams.items():
            say(f"round {done + 1} of {repeats}, {count} workers")
            for _ in range(8 * max(count, 1)):  # what waited in buffers since the last round
                next(batches)
            start, images = time.perf_counter(), 0
            while (elapsed := time.perf_counter() - start) < SECONDS:
                next(batches)
                images += batch_size
            rates[count].append(images / elapsed)
