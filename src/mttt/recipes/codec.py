"""Recipes to JSON and back."""

from typing import Any

from mttt.fields import FieldError, decode as decode_as, encode as encode
from mttt.recipes.recipe import Recipe
from mttt.runs import Run, RunError


def decode(value: Any) -> Recipe:
    """The recipe that `encode` wrote. What is unknown is refused: guessing would train something else."""
    return decode_as(Recipe, value)


def recipe_of(run: Run) -> Recipe:
    """The recipe of a run. What is wrong with it is wrong in its file, not in what somebody asks for."""
    try:
        return decode(run.recipe)
    except FieldError as error:
        raise RunError(f"the recipe of {run.path} cannot be used: {error}") from error
