"""Recipes to JSON and back."""

from typing import Any

from mttt.fields import decode as decode_as, encode as encode
from mttt.recipes.recipe import Recipe


def decode(value: Any) -> Recipe:
    """The recipe that `encode` wrote. What is unknown is refused: guessing would train something else."""
    return decode_as(Recipe, value)
