"""Recipes with names."""

from typing import NamedTuple

from mttt.recipes.data import Digits
from mttt.recipes.inner import FixedRate
from mttt.recipes.mixers import MTTTMLP
from mttt.recipes.recipe import Model, OuterAdam, Recipe


class Preset(NamedTuple):
    """A recipe, and what to expect of it."""

    recipe: Recipe
    about: str


PRESETS: dict[str, Preset] = {
    "digits": Preset(
        Recipe(
            data=Digits(),
            # η = 8 learns in fewer epochs than the paper's η = 1: results/digits.md.
            model=Model(size="micro-s", patch=1, positions="learned", mixer=MTTTMLP(optimizer=FixedRate(8.0))),
            optimizer=OuterAdam(rate=3e-3),
            epochs=30.0,
            batch_size=32,
            evaluate_every=2.0,
            checkpoint_every=2.0,
        ),
        "MTTT-MLP on handwritten digits, 8×8 raw pixels: n = 64 tokens",
    ),
}
DEFAULT = "digits"
