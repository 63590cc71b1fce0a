"""Runs that somebody tampered with."""

import random
from pathlib import Path

from fuzz.command import case, copied, draw_picture, trained
from fuzz.damage import damage
from fuzz.ground import Case, Ground

LINES = [
    ["evaluate", "run"],
    ["evaluate", "run", "--json"],
    ["predict", "run", "picture.png"],
    ["train", "--run", "run"],
    ["train", "--run", "run", "--epochs", "0.35"],
    ["train", "--from", "run", "--epochs", "0.05", "--run", "new"],
    ["train", "--recipe", "run/recipe.json", "--epochs", "0.05", "--run", "new"],
    ["runs", "."],
    ["runs", "run", "--json"],
]


class Runs:
    """A small trained run, damaged, and what is done with runs."""

    def prepare(self, ground: Ground) -> None:
        trained(ground)

    def case(self, rng: random.Random, here: Path, ground: Ground) -> Case:
        run = here / "run"
        copied(trained(ground), run)
        draw_picture(here / "picture.png")
        if rng.random() < 0.3:  # as if it had not come to its end
            (run / "result.json").unlink()
        done = [damage(run, rng, ground.beside) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        return case(rng.sample(LINES, 2), "; ".join(done))
