"""What can be chosen by name in a recipe: kinds, with their defaults, and products that have names."""

from typing import Any, NamedTuple

from mttt.fields import choices
from mttt.recipes.ttt import NAMED


class Option(NamedTuple):
    """What a name stands for."""

    value: Any
    about: str


def options(recipe: Any) -> dict[str, dict[str, Option]]:
    """The fields of a recipe that choose, by path, and what each can be."""
    return {path: _options(kinds) for path, kinds in choices(recipe).items()}


def _options(kinds: dict[str, type]) -> dict[str, Option]:
    named = {name: Option(*one) for name, one in NAMED.items() if type(one.recipe) in kinds.values()}
    return named | {name: Option(kind(), (kind.__doc__ or "").strip()) for name, kind in kinds.items()}
