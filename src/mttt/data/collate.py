"""From examples to a batch."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from mttt.data.batch import Batch
from mttt.data.errors import BadExample
from mttt.data.view import Example, View


class Skipped(NamedTuple):
    """An example that could not be used."""

    name: str
    reason: str


class Made(NamedTuple):
    """A batch, and the examples that are missing in it."""

    batch: Batch
    skipped: tuple[Skipped, ...]


def collate(rows: Sequence[Example | BadExample], view: View, *, size: int | None = None) -> Made:
    """A row whose example cannot be used repeats another one, with weight 0; zeros fill the batch up to `size`."""
    skipped = tuple(Skipped(row.name, row.reason) for row in rows if isinstance(row, BadExample))
    good = [row for row in rows if isinstance(row, Example)]
    filler = good[0] if good else _zeros(view)
    examples = [row if isinstance(row, Example) else filler for row in rows] or [filler]
    batch = Batch(
        jax.tree.map(lambda *parts: np.stack(parts), *(example.inputs for example in examples)),
        np.array([example.label for example in examples], np.int32),
        np.array([isinstance(row, Example) for row in rows] or [False], np.float32),
    )
    missing = 0 if size is None else size - len(examples)
    if missing:
        batch = jax.tree.map(lambda a: np.concatenate([a, np.zeros((missing, *a.shape[1:]), a.dtype)]), batch)
    return Made(batch, skipped)


def _zeros(view: View) -> Example:
    return Example(jax.tree.map(lambda part: np.zeros(part.shape, part.dtype), view.inputs), 0)
