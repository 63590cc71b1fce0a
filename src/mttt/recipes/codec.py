"""Recipes to JSON and back. A member of a union is written with its name under "kind"."""

import dataclasses
from typing import Any

from mttt.recipes.augment import AugmentRecipe
from mttt.recipes.data import DATA
from mttt.recipes.inner import INNER_OPTIMIZERS
from mttt.recipes.mixers import MIXERS
from mttt.recipes.recipe import Model, OuterAdam, Recipe

# Every field that holds a member of a union, by the path that the command line calls it by.
UNIONS: dict[str, dict[str, type]] = {
    "data": DATA,
    "model.mixer": MIXERS,
    "model.mixer.optimizer": INNER_OPTIMIZERS,
}
_STRUCTURES: dict[str, type] = {"": Recipe, "data.augment": AugmentRecipe, "model": Model, "optimizer": OuterAdam}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def encode(part: Any, path: str = "") -> Any:
    """Plain JSON of a recipe or a part of it."""
    if not dataclasses.is_dataclass(part):
        return part
    fields = {f.name: encode(getattr(part, f.name), _join(path, f.name)) for f in dataclasses.fields(part)}
    names = {kind: name for name, kind in UNIONS.get(path, {}).items()}
    return {"kind": names[type(part)], **fields} if names else fields


def decode(value: Any, path: str = "") -> Any:
    """The recipe that `encode` wrote. Unknown names are refused: guessing would train something else."""
    if path in UNIONS:
        value = dict(value)
        kind = value.pop("kind", None)
        if kind not in UNIONS[path]:
            raise ValueError(f"{path}: unknown kind {kind!r}; known: {', '.join(UNIONS[path])}")
        structure = UNIONS[path][kind]
    elif path in _STRUCTURES:
        structure = _STRUCTURES[path]
    else:
        return value
    known = {f.name for f in dataclasses.fields(structure)}
    if unknown := set(value) - known:
        raise ValueError(f"{path or 'recipe'}: unknown field {', '.join(sorted(unknown))}")
    return structure(**{name: decode(v, _join(path, name)) for name, v in value.items()})


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Where two encoded recipes differ, a line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = sorted(set(old) | set(new))
        return [line for n in names for line in differences(old.get(n), new.get(n), _join(path, n))]
    return [] if old == new else [f"{path}: {old} there, {new} asked for"]
