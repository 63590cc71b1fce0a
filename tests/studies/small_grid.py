"""A grid that takes seconds: `python small_grid.py DIR` works through it; the tests kill it."""

import sys
from dataclasses import replace
from pathlib import Path

from mttt.recipes import PRESETS
from mttt.recipes.mixers import LinearAttentionRecipe
from mttt.recipes.ttt import MTTT_MLP
from mttt.studies import Grid, Place, Row, jobs_of
from mttt.studies.scale import Scale

RECIPE = replace(PRESETS["digits"].recipe, epochs=0.2, log_every=2, checkpoint_every=0.05)
SCALE = Scale(
    "small",
    "digits",
    "No row was tuned.",
    {"patches": replace(RECIPE, model=replace(RECIPE.model, patch=2)), "pixels": RECIPE},
    {
        ("patches", "small"): {"size": "micro-s", "dim": 16, "depth": 1},
        ("pixels", "tiny"): {"size": "micro-s", "dim": 16, "depth": 1},
        ("pixels", "small"): {"size": "micro-s", "dim": 32, "depth": 1},
    },
    {"patches": (8, 8, 1), "pixels": (8, 8, 1)},
    classes={"patches": 10, "pixels": 10},
    points=2,
)
ROWS = (
    Row("linear-attention", "Linear attention, identity map", LinearAttentionRecipe()),
    Row("mttt-mlp", "MTTT-MLP", MTTT_MLP, probe=(0, 1)),
)


class Quiet:
    """Sees all and says what began and ended."""

    def __init__(self):
        self.begun, self.ended, self.said = [], [], []

    def begin(self, left, total):
        assert all(weight > 0 for weight in left.values())
        self.fraction = 1 - sum(left.values()) / total

    def job(self, job, steps, evaluation_name):
        self.begun.append(job)
        print(job, flush=True)
        return self

    def finished(self, job, accuracy):
        self.ended.append((job, accuracy))

    def left_to_others(self, job):
        self.ended.append((job, "elsewhere"))

    def say(self, words):
        self.said.append(words)

    def at(self, step): ...

    def record(self, record): ...


def work(directory, seeds=2, rows=ROWS, scale=SCALE):
    """Work through the grid; who watched."""
    watcher = Quiet()
    watcher.left = Grid(Place(scale, directory), jobs_of(rows, seeds)).work(watcher)
    return watcher


if __name__ == "__main__":
    work(Path(sys.argv[1]), seeds=1)
