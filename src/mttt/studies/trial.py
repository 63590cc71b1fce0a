"""One step of every row on noise: does a scale fit this machine? Nothing is kept."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np

from mttt.data import Batch, DataSet, View
from mttt.data.arrays import Arrays
from mttt.outer import train_step
from mttt.recipes.data import Data, Idx
from mttt.recipes.launch import initial_state
from mttt.studies.row import Row
from mttt.studies.scale import Scale


class Trial(NamedTuple):
    """What one step said."""

    row: Row
    loss: float
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


def try_rows(scale: Scale, rows: tuple[Row, ...], *, images: int = 2, side: int | None = None) -> Iterator[Trial]:
    """Build each row as the scale says and take a step on a few images of noise."""
    for row in rows:
        begin = time.monotonic()
        recipe = scale.recipe(row, seed=0)
        data = noise(recipe.data, images, side=side)
        # The schedule must not end with the only step: its rate would be 0.
        recipe = replace(recipe, batch_size=images, accumulate=1, epochs=2.0)
        plan = recipe.plan(data)
        optimizer, _ = recipe.build_optimizer(plan)
        state = initial_state(recipe, data, plan)
        source = data.train.source
        assert isinstance(source, Arrays)
        batch = Batch(source.images, source.labels, np.ones(images, np.float32))
        step = eqx.filter_jit(
            lambda state, batch, optimizer=optimizer, recipe=recipe: train_step(
                state, batch, optimizer=optimizer, mixup=recipe.mixup
            )
        )
        state = step(state, batch)
        yield Trial(row, float(state.totals.loss) / images, time.monotonic() - begin)
        jax.clear_caches()
