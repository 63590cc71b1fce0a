"""One small trained run, copied by each test that changes it."""

import shutil
from dataclasses import replace

import jax
import pytest

from mttt.data import describe
from mttt.recipes import PRESETS, encode
from mttt.report import draw_figures
from mttt.runs import Run
from mttt.training import launch, prepare

DIGITS = PRESETS["digits"].recipe
STEP = 64 / 1437
"""an optimizer step, in epochs"""
RECIPE = replace(
    DIGITS,
    model=replace(DIGITS.model, dim=8, depth=1, patch=4),
    epochs=12.5 * STEP,
    evaluate_every=6 * STEP,
    checkpoint_every=4 * STEP,
    batch_size=64,
    log_every=2,
)


class Nobody:
    """An observer that looks away."""

    def at(self, step):
        pass

    def record(self, record):
        pass


class Trained:
    """A finished run of 12 steps with checkpoints at 8 and 12, and what it takes to go on with a copy of it."""

    def __init__(self, path):
        with jax.numpy_dtype_promotion("standard"):  # Optax promotes implicitly
            self.data = RECIPE.data.load()
            self.prepared = prepare(RECIPE, self.data)
            self.path, self.like = path, self.prepared.state()
            run = Run.create(path, encode(RECIPE), describe(self.data))
            self.train(run)
            draw_figures(run)

    def train(self, run, observer=None):
        with jax.numpy_dtype_promotion("standard"):
            return launch(self.prepared, self.data, run, observer or Nobody())

    def copy(self, to):
        shutil.copytree(self.path, to)
        return Run.open(to)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    return Trained(tmp_path_factory.mktemp("trained") / "run")
