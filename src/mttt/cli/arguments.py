"""From words on the command line to a recipe.

A preset gives every value. `--model.mixer NAME` (or another field that has kinds) puts the kind of that name, with its
defaults, in its place; any other `--field value` changes one value. The order does not matter.
"""

import dataclasses
import difflib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mttt.recipes import DEFAULT, PRESETS, UNIONS, Recipe
from mttt.recipes.data import PicturesRecipe


class UsageError(Exception):
    """Something that was typed cannot be meant. The message says what came, what was expected and what to do."""


@contextmanager
def refusing(**called: str) -> Iterator[None]:
    """Where what was typed is checked: a ValueError says what is wrong with it. Elsewhere it is a defect of ours.

    `called` are options that have another name in this command.
    """
    try:
        yield
    except ValueError as error:
        text = str(error)
        for name, here in called.items():
            text = text.replace(name, here)
        raise UsageError(text) from error


def unknown(what: str, given: str, known: list[str]) -> UsageError:
    """The error for a word that should be one of a few."""
    near = difflib.get_close_matches(given, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return UsageError(f"unknown {what} '{given}'.{hint} Choose from: {', '.join(known)}")


def check_file(path: Path) -> None:
    """Refuse a file that could not be written, before the work whose numbers it is for."""
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path}: no permission to write in {path.parent}")


def take_preset(words: list[str]) -> tuple[str | None, list[str]]:
    """The preset's name, if the first word is one, and the other words."""
    if not words or words[0].startswith("-"):
        return None, words
    if words[0] not in PRESETS:
        raise unknown("preset", words[0], list(PRESETS))
    return words[0], words[1:]


# A recipe that suits the data, where only the data are named.
_PRESET_OF = {"idx": "fashion-patches", "cifar10": "cifar10-patches", "cifar100": "cifar10-patches"}
_PRESET_OF |= {"folder": "folder", "parquet": "folder", "tar": "folder"}


def preset_for_data(words: list[str]) -> str | None:
    """The preset for `--data KIND`, if it is there."""
    for place, word in enumerate(words):
        if word == "--data" and place + 1 < len(words):
            return _PRESET_OF.get(words[place + 1])
        if word.startswith("--data="):
            return _PRESET_OF.get(word.removeprefix("--data="))
    return None


def take_kinds(recipe: Recipe, words: list[str]) -> tuple[Recipe, list[str]]:
    """The recipe with the kinds that the words name, and the other words."""
    chosen, rest = {}, []
    iterator = iter(words)
    for word in iterator:
        flag, equals, value = word.partition("=")
        path = flag.removeprefix("--").replace("_", "-")
        if not flag.startswith("--") or path not in UNIONS:
            rest.append(word)
            continue
        name = value if equals else next(iterator, None)
        if name is None or name.startswith("-"):
            raise UsageError(f"{flag} needs a name: {', '.join(UNIONS[path])}")
        if name not in UNIONS[path]:
            raise unknown(path, name, list(UNIONS[path]))
        chosen[path] = name
    for path in sorted(chosen, key=len):  # a mixer before its optimizer
        kind = UNIONS[path][chosen[path]]
        # Pictures in another kind of file are still the same pictures.
        part = kind.like(recipe.data) if path == "data" and issubclass(kind, PicturesRecipe) else kind()
        recipe = _replace(recipe, str(path).split("."), part)
    return recipe, rest


def _replace(part: Any, names: list[str], value: Any) -> Any:
    if not hasattr(part, names[0]):
        raise UsageError(f"a {type(part).__name__.removesuffix('Recipe')} has no {names[0]}")
    if len(names) > 1:
        value = _replace(getattr(part, names[0]), names[1:], value)
    return dataclasses.replace(part, **{names[0]: value})


def preset_recipe(preset: str | None) -> Recipe:
    """The recipe of a preset, or of the default one."""
    return PRESETS[preset or DEFAULT].recipe


def kinds_help() -> str:
    """The names that fields with kinds take."""
    return "\n".join(f"  --{path} {{{','.join(kinds)}}}" for path, kinds in UNIONS.items())
