"""Short names of recipes: what differs from another recipe, in words that a file name may have.

`steps4`, `rate0.003`, `self-attention`, `no-flip`: a number has the last part of its field's path before it, a choice
is the chosen name alone. A field takes more of its path where another field has the same last part.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from mttt.fields import encode
from mttt.fields.error import join
from mttt.fields.kinds import alternatives, kinds, typed_fields
from mttt.recipes.options import chosen, options_of
from mttt.recipes.presets import PRESETS
from mttt.recipes.recipe import Recipe

LONGEST = 80
"""bytes in a name; file systems take 255"""


def name_of(stem: str, base: Recipe, recipe: Recipe) -> str:
    """A name for a recipe that was made from another: the stem, and what differs.

    Different recipes have different names, except that a text (a path) is named by its last part only.
    """
    words = [_safe(stem, LONGEST), *words_of(base, recipe)]
    name = "-".join(words)
    if len(name.encode()) <= LONGEST:
        return name
    digest = hashlib.sha256(json.dumps(encode(recipe), sort_keys=True).encode()).hexdigest()[:8]
    short = _cut(words[0], LONGEST - len(digest) - 1)
    for word in words[1:]:
        if len(f"{short}-{word}-{digest}".encode()) > LONGEST:
            break
        short = f"{short}-{word}"
    return f"{short}-{digest}"


def nearest_preset(recipe: Recipe) -> str:
    """The preset from which the fewest things differ."""
    return min(PRESETS, key=lambda name: len(words_of(PRESETS[name].recipe, recipe)))


def mixer_words(recipe: Recipe) -> list[str]:
    """The mixer by its name, and what differs from what has that name: `mttt-mlp`, `steps4`."""
    return _part(None, recipe.model.mixer, "model.mixer", typed_fields(type(recipe.model))["mixer"])


def words_of(base: Any, new: Any, path: str = "") -> list[str]:
    """What differs, in the order of the fields. Both are recipes, or parts of one class that are at `path`."""
    found: list[str] = []
    for name, hint in typed_fields(type(new)).items():
        old, value, here = getattr(base, name), getattr(new, name), join(path, name)
        if value != old:
            found += _part(old, value, here, hint) if is_dataclass(value) else [_leaf(value, here, hint)]
    return found


def _part(old: Any, new: Any, path: str, hint: Any) -> list[str]:
    """A part that is another one, told from what was there or from what has a name: whichever is shorter."""
    ways = [words_of(old, new, path)] if type(old) is type(new) else []
    for name, option in options_of(hint).items():
        if type(option.value) is type(new):
            ways.append([_word(path, name), *words_of(chosen(option.value, old), new, path)])
    return min(ways, key=len)


def _leaf(value: Any, path: str, hint: Any) -> str:
    label = _labels()[path]
    if value is None or value is False or value == "none":
        return f"no-{label}"
    if value is True:
        return label
    if isinstance(value, str):
        return _word(path, value) if value in _literals(hint) else _safe(Path(value).name, 40) or f"no-{label}"
    return f"{label}{repr(value).removesuffix('.0')}"


def _word(path: str, name: str) -> str:
    """A name that is chosen; with its field, where it can be chosen for another field, too."""
    places = [place for place, names in _vocabulary().items() if name in names]
    return name if places == [path] else f"{_labels()[path]}-{name}"


def _literals(hint: Any) -> tuple[Any, ...]:
    return tuple(value for one in alternatives(hint) if get_origin(one) is Literal for value in get_args(one))


def _fields(structure: type, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every field that a recipe may have, whatever is chosen, with its type."""
    for name, hint in typed_fields(structure).items():
        here = join(path, name)
        yield here, hint
        for one in alternatives(hint):
            if is_dataclass(one) and isinstance(one, type):
                yield from _fields(one, here)


def names_at(path: str) -> set[str]:
    """The names that a field can take, whatever is chosen elsewhere."""
    return _vocabulary().get(path, set())


@cache
def _vocabulary() -> dict[str, set[str]]:
    """The names that each field can take."""
    found: dict[str, set[str]] = {}
    for path, hint in _fields(Recipe):
        names = set(options_of(hint)) if kinds(hint) else set(_literals(hint))
        if names:
            found.setdefault(path, set()).update(names)
    return found


@cache
def _labels() -> dict[str, str]:
    """Each field by the end of its path: as little of it as no other field has. The shorter path chooses first."""
    paths = list(dict(_fields(Recipe)))
    labels: dict[str, str] = {}
    for path in sorted(paths, key=lambda path: path.count(".")):
        parts = path.split(".")
        ends = [".".join(parts[-many:]) for many in range(1, len(parts) + 1)]
        free = (end for end in ends if not any(f".{other}".endswith(f".{end}") for other in labels))
        labels[path] = next(free, path)
    return {path: re.sub(r"[._]", "-", label) for path, label in labels.items()}


def _safe(text: str, size: int) -> str:
    """What can be part of a file's name everywhere, and is not taken for an option."""
    return _cut(re.sub(r"[^\w.+-]+", "_", text).strip("._-"), size)


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")
