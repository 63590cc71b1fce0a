"""A server of the page whose models need no training: python -m browser.serve FOLDER. It prints its address.

digits    ships with the package
twin      the same again
attention, writer    as their trainings would begin: no inner loop, and a language model
fresh     a run in training, without a checkpoint; each line of the input adds a record to its metrics
"""

import sys
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from threading import Thread

from mttt.data import describe
from mttt.recipes import PRESETS, encode
from mttt.recipes.mixers import SelfAttentionRecipe
from mttt.runs import Run
from mttt.training import Loaded, prepare
from mttt.watch.models import Entry
from mttt.watch.server import Server
from mttt.watch.service import Service
from mttt.watch.sources import ModelSource, RunSource, ShippedSource

DIGITS, TEXT = PRESETS["digits"].recipe, PRESETS["shakespeare"].recipe


class New(ModelSource):
    """A model as its training would begin."""

    ships, newest, why_not = False, 0, None

    def __init__(self, name, recipe):
        self.name, self._data = name, recipe.data.load()
        self.prepared = prepare(recipe, self._data)

    def load(self):
        return Loaded(self.prepared.state().model, 0, self.prepared)

    def data(self):
        return self._data

    def result(self):
        return {}


def small(recipe, **fields):
    return replace(recipe, model=replace(recipe.model, dim=8, depth=1, heads=2, **fields))


def record(run: Run, step: int) -> None:
    run.metrics.append(
        {"kind": "train", "step": step, "epoch": step / 45, "loss": 2.3 - step / 100, "accuracy": step / 100}
        | {"rate": 1e-3, "examples_per_second": 250.0}
    )


def in_training(run: Run, lines) -> None:
    """The process that trains a run holds it, and writes its metrics."""
    with run.locked():
        for step, _ in enumerate(lines, start=3):
            record(run, step)


def main(folder: Path) -> None:
    run = Run.create(folder / "fresh", encode(DIGITS), describe(DIGITS.data.load()))
    run.metrics.path.touch()
    for step in (1, 2):
        record(run, step)
    with as_file(files("mttt.watch") / "shipped" / "digits.npz") as path:
        shipped = ShippedSource(path)
        sources = {
            "digits": shipped,
            "twin": ShippedSource(path),
            "attention": New("attention", small(DIGITS, mixer=SelfAttentionRecipe())),
            "writer": New("writer", small(TEXT)),
            "fresh": RunSource(run.path),
        }
        entries = {name: Entry(name, source, 12) for name, source in sources.items()}
    server = Server(Service(entries), 0)
    Thread(target=in_training, args=(run, sys.stdin), daemon=True).start()
    print(server.address, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
