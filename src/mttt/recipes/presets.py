"""Recipes with names."""

from typing import NamedTuple

from mttt.recipes.mixers import MTTTMLP
from mttt.recipes.recipe import Digits, Model, OuterAdam, Recipe


class Preset(NamedTuple):
    """A recipe, and what to expect of it."""

    recipe: Recipe
    about: str


PRESETS: dict[str, Preset] = {
    "digits": Preset(
        Recipe(
            data=Digits(),
            model=Model(size="micro-m", depth=3, patch=2, mixer=MTTTMLP()),
            optimizer=OuterAdam(rate=2e-3),
            epochs=30.0,
            batch_size=32,
        ),
        "MTTT-MLP on handwritten digits",
    ),
}
DEFAULT = "digits"
