"""Random and mutated command lines."""

import random
from pathlib import Path

from fuzz.command import TINY, case, copied, draw_picture, trained
from fuzz.ground import Case, Ground
from fuzz.odd import misspelt, safe, value
from mttt.cli.arguments import recipe_flags
from mttt.recipes import PRESETS, Recipe, options

FLAGS = sorted(
    {flag for preset in PRESETS.values() for flag in recipe_flags(preset.recipe)}
    | {
        "--run",
        "--from",
        "--recipe",
        "--workers",
        "--steps",
        "--rate",
        "--test",
        "--data.path",
        "--figure",
        "--json",
        "--top",
        "--invert",
    }
    | {"--check", "--mixers", "--help", "--version"}
)
NAMES = sorted({name for kinds in options(Recipe()).values() for name in kinds} | set(PRESETS))
PATHS = ["run", "new", "picture.png", "set", "run/recipe.json", "out.json", "out.png", "."]
# Lines, and how many of their words stay as they are: without them a line would be right, and would take hours.
_SHORT = ["--epochs", "0.02", *TINY]
LINES: list[tuple[list[str], int]] = [
    (["train", "digits", *_SHORT], 4),
    (["train", "digits", *_SHORT, "--run", "new", "--workers", "0"], 4),
    (["train", "--from", "run", *_SHORT[:2]], 3),
    (["train", "--recipe", "run/recipe.json", *_SHORT[:2]], 3),
    (["train", "--run", "run"], 3),
    (["train", "--run", "run", "--epochs", "0.35"], 3),
    (["train", "--data", "folder", "--data.path", "set", "--data.size", "8", *_SHORT], 3),
    (["train", "--help"], 1),
    (["evaluate", "run"], 1),
    (["evaluate", "run", "--steps", "2", "--rate", "0.5"], 1),
    (["evaluate", "run", "--json", "--figure", "out.png"], 1),
    (["evaluate", "run", "--test", "set"], 1),
    (["predict", "run", "picture.png", "--top", "2"], 1),
    (["predict", "run", "picture.png", "nowhere.png", "--json", "--invert"], 1),
    (["runs"], 1),
    (["runs", ".", "--json"], 1),
    (["presets", "--mixers"], 1),
    (["data", "inspect", "digits", "--check", "5"], 1),
    (["data", "inspect", "set", "--json", "out.json", "--figure", "out.png"], 1),
    (["bench", "--help"], 2),
    (["study", "--help"], 2),
    (["bench", "layers", "--help"], 3),
    (["--version"], 0),
    (["--help"], 0),
]


class Lines:
    """Command lines: some as they should be, most of them not."""

    def prepare(self, ground: Ground) -> None:
        trained(ground)

    def case(self, rng: random.Random, here: Path, ground: Ground) -> Case:
        copied(trained(ground), here / "run")
        draw_picture(here / "picture.png")
        for name in ("cat", "dog"):
            (here / "set" / name).mkdir(parents=True)
            draw_picture(here / "set" / name / "1.png")
        line, fixed = rng.choice(LINES)
        words = line[fixed:]
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 5])):
            words = _mutated(words, rng)
        return case([line[:fixed] + [word if word in PATHS else safe(word) for word in words]])


def _mutated(words: list[str], rng: random.Random) -> list[str]:
    place = rng.randrange(len(words) + 1)
    before, here, after = words[:place], words[place : place + 1], words[place + 1 :]
    odd = value(rng) if rng.random() < 0.7 else rng.choice(NAMES + PATHS)
    flag = rng.choice(FLAGS)
    return before + rng.choice(
        [
            after,  # a word is missing
            here + here + after,
            [odd, *after],
            [*here, odd, *after],
            [misspelt(word, rng) for word in here] + after,
            [flag, odd, *here, *after],
            [flag, odd, *here, *after],
            [f"{flag}={odd}", *here, *after],
            [flag, *here, *after],
            [misspelt(flag, rng), odd, *here, *after],
            [*after, *here],
        ]
    )
