"""From a source to batches: order, batching and a position that can be saved, by Grain."""

from collections.abc import Iterator
from typing import Any

import grain
import numpy as np

from mttt.data.batch import Batch
from mttt.data.source import Example, Source


def _collate(examples: list[Example]) -> Batch:
    return Batch(
        np.stack([example.image for example in examples]),
        np.array([example.label for example in examples], np.int32),
        np.ones(len(examples), np.float32),
    )


def training_batches(source: Source, batch_size: int, *, seed: int) -> grain.DatasetIterator:
    """Endless batches, each epoch in a new order, every image once an epoch; a batch may straddle two epochs.

    The order depends on the seed alone. `get_state` and `set_state` of the iterator are the position.
    """
    if not 1 <= batch_size <= len(source):
        raise ValueError(f"batch_size={batch_size}: there are {len(source)} training images; take 1 to {len(source)}")
    dataset: Any = grain.MapDataset.source(source).seed(seed).shuffle().repeat()
    dataset = dataset.batch(batch_size, drop_remainder=True, batch_fn=_collate)
    stream: Any = dataset.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=4))
    return stream.__iter__()


def evaluation_batches(source: Source, batch_size: int) -> Iterator[Batch]:
    """Every image once, in order. The last batch is filled up with rows of weight 0, so that all have one shape."""
    batch_size = min(batch_size, len(source))
    for start in range(0, len(source), batch_size):
        indices = range(start, min(start + batch_size, len(source)))
        batch = _collate([source[i] for i in indices])
        missing = batch_size - len(indices)
        yield Batch(*(np.concatenate([a, np.zeros((missing, *a.shape[1:]), a.dtype)]) for a in batch))
