"""How fast batches come: a pipeline that is slower than the training step would be the bottleneck."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from mttt.bench.measure import machine
from mttt.data import load_digits, training_batches


def data_bench(
    *, repeats: int = 7, batch_size: int = 32, say: Callable[[str], None] = lambda words: None
) -> dict[str, Any]:
    """Images a second from the shipped digits through the training pipeline."""
    batches = training_batches(load_digits().train, batch_size, seed=0)
    next(batches)
    rates = []
    for done in range(repeats):
        say(f"round {done + 1} of {repeats}")
        start = time.perf_counter()
        for _ in range(100):
            next(batches)
        rates.append(100 * batch_size / (time.perf_counter() - start))
    return {
        "images_per_second": max(rates),
        "images_per_second_median": statistics.median(rates),
        "repeats": repeats,
        **machine(),
    }
