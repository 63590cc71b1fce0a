"""A recipe from a file that somebody wrote, or that a run left."""

import json
from pathlib import Path

from mttt.fields import FieldError
from mttt.files import contents
from mttt.recipes.codec import decode
from mttt.recipes.recipe import Recipe

LARGEST = 2**20
"""bytes; the recipe of a run with the names of 20,000 classes has less"""


def read_recipe(path: Path) -> Recipe:
    """The recipe in a JSON file: one that `encode` wrote, or a run's recipe.json. A ValueError says what is wrong."""
    try:
        written = json.loads(contents(path, LARGEST).decode())
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if isinstance(written, dict) and isinstance(written.get("recipe"), dict):
        written = written["recipe"]
    try:
        return decode(written)
    except FieldError as error:
        raise ValueError(f"{path} is not a recipe: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{path} is not a recipe: it is nested too deeply") from error


def stem_of(path: Path) -> str:
    """What to call a recipe by its file: the file of a run by its run."""
    return path.absolute().parent.name if path.name == "recipe.json" else path.stem
