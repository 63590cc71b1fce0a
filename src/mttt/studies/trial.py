"""Two steps of every row on noise: is everything there that a scale needs? Nothing is kept."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np

from mttt.data import Batch, Spec
from mttt.outer import State, train_step
from mttt.recipes.outer import ExactRecipe
from mttt.studies.row import Row
from mttt.studies.scale import Scale
from mttt.training import prepare_for


class Trial(NamedTuple):
    """What two steps on the same images said."""

    row: Row
    losses: tuple[float, float]
    seconds: float


def one_step(scale: Scale, row: Row, images: int) -> tuple[State, Callable[[State], State]]:
    """The first state of a row, and a step of its training on a batch of noise."""
    recipe = replace(scale.recipe(row, seed=0), batch_size=images, outer=ExactRecipe(), epochs=4.0)
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (images, *scale.shapes[row.look]), dtype=np.uint8)
    labels = rng.integers(0, scale.classes[row.look], images).astype(np.int32)
    inputs = jax.ShapeDtypeStruct(pixels.shape[1:], pixels.dtype)
    spec = Spec(inputs, tuple(f"class {number}" for number in range(scale.classes[row.look])))
    prepared = prepare_for(recipe, spec, images)
    batch = jax.device_put(Batch(pixels, labels, np.ones(images, np.float32)))
    step = eqx.filter_jit(partial(train_step, objective=prepared.objective, rule=prepared.rule))
    return prepared.state(), lambda state: step(state, batch)


def try_rows(scale: Scale, rows: tuple[Row, ...], *, images: int = 2) -> Iterator[Trial]:
    """Build each row as the scale says and take two steps on a few images of noise."""
    for row in rows:
        begin = time.monotonic()
        state, step = one_step(scale, row, images)
        losses = []
        for _ in range(2):
            state = step(state.reset_totals())
            losses.append(float(state.totals.loss) / images)
        yield Trial(row, (losses[0], losses[1]), time.monotonic() - begin)
        jax.clear_caches()
