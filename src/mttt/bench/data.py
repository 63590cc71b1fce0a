"""How fast batches come: a pipeline that is slower than the training step would be the bottleneck."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mttt.bench.measure import machine
from mttt.bench.shares import Shares
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
    processes: int = 1,
    repeats: int = 7,
    batch_size: int = 32,
    say: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Images a second through the training pipeline, for each number of workers of each process; 0 is threads.

    More `processes` than one make equal parts of every batch; they are compared with one that makes all of it.
    """
    say("starting workers")
    kinds = [(count, n) for count in dict.fromkeys((1, processes)) for n in workers]
    rates: dict[tuple[int, int], list[float]] = {kind: [] for kind in kinds}
    with ExitStack() as stack:
        make = lambda count, n: stack.enter_context(Shares(view, batch_size, processes=count, workers=n))  # noqa: E731
        streams = {kind: make(*kind) for kind in kinds}
        for done in range(repeats):
            for (count, n), stream in streams.items():
                say(f"round {done + 1} of {repeats}, processes: {count}, workers: {n}")
                rates[count, n].append(stream.rate(SECONDS))
    rows = [
        {"processes": count, "workers": n, "images_per_second": max(each), "rounds": each}
        for (count, n), each in rates.items()
    ]
    return {"rows": rows, "images": len(view), "shape": view.shape, "repeats": repeats, **machine()}
