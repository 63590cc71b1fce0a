"""Data sets that somebody damaged."""

import random
from pathlib import Path

import pytest

from data.pictures.test_sources import KINDS, SMALL, make
from fuzz.command import TINY, case, copied, trained
from fuzz.damage import damage
from fuzz.ground import Case, Ground
from mttt.data.pictures import cifar

cifar.LAYOUTS = SMALL  # the real files are large, and have one size
OPTIONS = {"one tree": "folder", "webdataset": "tar"}


class Data:
    """A small set of any kind, damaged, and what is done with data."""

    def prepare(self, ground: Ground) -> None:
        trained(ground)
        for kind in KINDS:
            self._set(kind, ground)

    def _set(self, kind: str, ground: Ground) -> Path:
        def work() -> None:
            with pytest.MonkeyPatch.context() as patch:
                make(kind, Path.cwd(), patch)

        return ground.make(f"set {kind}", work) / "set"

    def case(self, rng: random.Random, here: Path, ground: Ground) -> Case:
        kind = rng.choice(list(KINDS))
        copied(self._set(kind, ground), here / "set")
        copied(trained(ground), here / "run")
        lines = [["data", "inspect", "set", "--json", "out.json"]]
        train = ["train", "--data", OPTIONS.get(kind, kind), "--data.path", "set", "--data.size", "8", *TINY[:-4]]
        train += ["--epochs", "2", "--batch-size", "2", "--workers", "0"]
        lines.append(rng.choice([train, train, ["evaluate", "run", "--test", "set"]]))
        if rng.random() < 0.3 and lines[1] is train:
            train += ["--data.on-error", "skip"]
        done = [damage(here / "set", rng, ground.beside) for _ in range(rng.choice([1, 1, 2, 4]))]
        return case(lines, f"{kind}: " + "; ".join(done))
