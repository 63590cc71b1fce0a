"""Two steps of every row on noise: is everything there that a scale needs? Nothing is kept."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np

from mttt.data import Batch, DataSet, View
from mttt.data.arrays import Arrays
from mttt.outer import State, train_step
from mttt.recipes.data import Data, Idx
from mttt.recipes.launch import initial_state
from mttt.studies.row import Row
from mttt.studies.scale import Scale


class Trial(NamedTuple):
    """What two steps on the same images said."""

    row: Row
    losses: tuple[float, float]
    seconds: float


def noise(data: Data, images: int, *, side: int | None = None) -> DataSet:
    """Images of noise in the place of a scale's, of the shape and number of classes that they have."""
    gray = isinstance(data, Idx)
    side = int(side or getattr(data, "size", None) or (28 if gray else 224))
    classes = 10 if gray else 1000
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (images, side, side, 1 if gray else 3), dtype=np.uint8)
    labels = rng.integers(0, classes, images).astype(np.int32)
    view = View(Arrays(pixels, labels), (), pixels.shape[1:])
    return DataSet(view, view, tuple(f"class {number}" for number in range(classes)), "test")


def one_step(
    scale: Scale, row: Row, *, images: int | None = None, side: int | None = None
) -> tuple[State, Callable[[State], State]]:
    """The first state of a row, and a step of its training on a batch of noise, of fewer images if told so."""
    recipe = replace(scale.recipe(row, seed=0), epochs=4.0)
    if images is not None:
        recipe = replace(recipe, batch_size=images, accumulate=1)
    data = noise(recipe.data, recipe.batch_size, side=side)
    plan = recipe.plan(data)
    optimizer, _ = recipe.build_optimizer(plan)
    source = data.train.source
    assert isinstance(source, Arrays)
    batch = jax.device_put(Batch(source.images, source.labels, np.ones(recipe.batch_size, np.float32)))
    step = eqx.filter_jit(
        partial(train_step, optimizer=optimizer, dtype=plan.dtype, accumulate=plan.accumulate, mixup=plan.mixup)
    )
    return initial_state(recipe, data, plan), lambda state: step(state, batch)


def try_rows(scale: Scale, rows: tuple[Row, ...], *, images: int = 2, side: int | None = None) -> Iterator[Trial]:
    """Build each row as the scale says and take two steps on a few images of noise."""
    for row in rows:
        begin = time.monotonic()
        state, step = one_step(scale, row, images=images, side=side)
        losses = []
        for _ in range(2):
            state = step(state.reset_totals())
            losses.append(float(state.totals.loss) / images)
        yield Trial(row, (losses[0], losses[1]), time.monotonic() - begin)
        jax.clear_caches()
