"""A server of the page for its tests: python -m browser.serve FOLDER. It prints its address.

The models that ship with the package; `twin`, one of them again; `bare`, once more, without its data; and `fresh`, a
run in training without a checkpoint.
Each line of the input adds a record to its metrics.
"""

import sys
from pathlib import Path
from threading import Thread

from mttt.data import describe
from mttt.recipes import PRESETS, encode
from mttt.runs import Run
from mttt.watch.models import Entry, catalogue
from mttt.watch.server import Server
from mttt.watch.service import Service

EXAMPLES = 12
RECIPE = PRESETS["digits"].recipe


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
    run = Run.create(folder / "fresh", encode(RECIPE), describe(RECIPE.data.load()))
    run.metrics.path.touch()
    for step in (1, 2):
        record(run, step)
    models = catalogue([run.path], examples=EXAMPLES)
    models["twin"] = Entry("twin", models["digits-mttt-mlp"].source, EXAMPLES)
    bare = models["bare"] = Entry("bare", models["digits-mttt-mlp"].source, EXAMPLES)
    bare.pictures, bare.no_examples = {}, "The evaluation data cannot be read: they moved"
    server = Server(Service(models), 0)
    Thread(target=in_training, args=(run, sys.stdin), daemon=True).start()
    print(server.address, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
