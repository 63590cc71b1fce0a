"""From words on the command line to a recipe.

A preset gives every value. `--model.mixer NAME` (or another field that has kinds) puts the kind of that name, with its
defaults, in its place; any other `--field value` changes one value. The order does not matter.
"""

import dataclasses
import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mttt.fields import Difference, FieldError, encode, possible_choices
from mttt.recipes import PRESETS, Recipe, options
from mttt.recipes.naming import names_at
from mttt.recipes.options import chosen
from mttt.training.need import NotEnoughMemory


class UsageError(Exception):
    """Something that was typed cannot be meant. The message says what came, what was expected and what to do."""


def flag(path: str) -> str:
    """How a field is spelt on the command line."""
    return f"--{path.replace('_', '-')}"


def flagged(difference: Difference) -> str:
    """Where two recipes differ, in words of the command line."""
    return f"{flag(difference.path)}: {difference.old} there, {difference.new} here"


@contextmanager
def refusing(flags: Mapping[str, str] | None = None) -> Iterator[None]:
    """Where what was typed is checked: a ValueError says what is wrong with it. Elsewhere it is a defect of ours.

    `flags` are those of fields that have another flag in this command than in `mttt train`.
    """
    try:
        yield
    except FieldError as error:
        name = (flags or {}).get(error.path, flag(error.path))
        came = " is missing" if error.missing else f" {error.value}"
        raise UsageError(f"{name}{came}: {error.reason}") from error
    except NotEnoughMemory as error:
        raise UsageError(error.sentence(lambda path, value: f"{flag(path)} {value}")) from error
    except ValueError as error:
        raise UsageError(str(error)) from error


def unknown(what: str, given: str, known: list[str]) -> UsageError:
    """The error for a word that should be one of a few."""
    near = difflib.get_close_matches(given, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return UsageError(f"unknown {what} '{given}'.{hint} Choose from: {', '.join(known)}")


def recipe_flags(recipe: Recipe) -> list[str]:
    """The flags of all fields that a recipe has, and of those that choose."""
    return [flag(path) for path in [*options(recipe), *_leaves(encode(recipe))]]


def _leaves(part: Any, path: str = "") -> Iterator[str]:
    if not isinstance(part, dict):
        yield path
        return
    for name, inside in part.items():
        if name != "kind":
            yield from _leaves(inside, f"{path}.{name}" if path else name)


def check_workers(workers: int | None) -> None:
    """Processes that decode pictures keep a processor busy each: many more than processors only take memory."""
    most = max(8, 4 * (os.cpu_count() or 1))
    if workers is not None and not 0 <= workers <= most:
        raise FieldError("workers", workers, f"must be 0 to {most} on this machine, four for each processor")


def value_of(name: str, words: Sequence[str]) -> str | None:
    """What follows a flag, before all words are parsed."""
    for place, word in enumerate(words):
        if word == name and place + 1 < len(words):
            return words[place + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


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
    if words[0] not in PRESETS and words[0] in _PRESET_OF:
        how = f"mttt train --data {words[0]} --data.path PATH"
        raise UsageError(f"{words[0]} is a kind of data, not a preset. To train on such data: {how}")
    if words[0] not in PRESETS:
        raise unknown("preset", words[0], list(PRESETS))
    return words[0], words[1:]


# A recipe that suits the data, where only the data are named.
_PRESET_OF = {"idx": "fashion-patches", "cifar10": "cifar10-patches", "cifar100": "cifar10-patches"}
_PRESET_OF |= {"folder": "folder", "parquet": "folder", "tar": "folder"}
_PRESET_OF |= {"shakespeare": "shakespeare", "text": "shakespeare"}


def preset_for_data(words: list[str]) -> str | None:
    """The preset for `--data KIND`, if it is there."""
    return _PRESET_OF.get(value_of("--data", words) or "")


def take_kinds(recipe: Recipe, words: list[str]) -> tuple[Recipe, list[str]]:
    """The recipe with the kinds that the words name, and the other words."""
    paths = set(possible_choices(Recipe))
    chosen: dict[str, str | None] = {}
    rest = []
    iterator = iter(words)
    for word in iterator:
        name, equals, value = word.partition("=")
        path = name.removeprefix("--").replace("-", "_")
        if name.startswith("--") and path in paths:
            chosen[path] = value if equals else next(iterator, None)
        else:
            rest.append(word)
    for path in sorted(chosen, key=len):  # a mixer before its optimizer
        recipe = _choose(recipe, path, chosen[path])
    return recipe, rest


def _choose(recipe: Recipe, path: str, name: str | None) -> Recipe:
    """The recipe with what the name stands for at this path."""
    here = options(recipe).get(path)
    if here is None:
        above = path.rpartition(".")[0]
        raise UsageError(f"{flag(path)}: there is no such choice with the {above} that is chosen")
    if name is None or name.startswith("-"):
        raise UsageError(f"{flag(path)} needs a name: {', '.join(here)}")
    if name not in here and name in names_at(path):
        kind = f"{flag('model')} {recipe.model.kind}"
        raise UsageError(f"{flag(path)} {name} does not go with {kind}; choose from: {', '.join(here)}")
    if name not in here:
        raise unknown(path, name, list(here))
    return _replace(recipe, path.split("."), chosen(here[name].value, recipe.data))


def _replace(part: Any, names: list[str], value: Any) -> Any:
    if len(names) > 1:
        value = _replace(getattr(part, names[0]), names[1:], value)
    return dataclasses.replace(part, **{names[0]: value})
