"""What can be chosen by name in a recipe: kinds, with their defaults, and products that have names."""

from typing import Any, NamedTuple

from mttt.fields import choices
from mttt.fields.kinds import kinds
from mttt.recipes.causal_ttt import CAUSAL_NAMED
from mttt.recipes.data import PicturesRecipe
from mttt.recipes.text import TextRecipe
from mttt.recipes.ttt import NAMED


class Option(NamedTuple):
    """What a name stands for."""

    value: Any
    about: str


def options(recipe: Any) -> dict[str, dict[str, Option]]:
    """The fields of a recipe that choose, by path, and what each can be."""
    return {path: _options(kinds) for path, kinds in choices(recipe).items()}


def options_of(hint: Any) -> dict[str, Option]:
    """What a field of this type can be; nothing if it does not choose."""
    return _options(kinds(hint))


def chosen(value: Any, old: Any) -> Any:
    """The value of an option in the place of another: in another kind of file they are still the same pictures."""
    return type(value).like(old) if isinstance(value, PicturesRecipe | TextRecipe) else value


def _options(kinds: dict[str, type]) -> dict[str, Option]:
    named = {name: Option(*one) for name, one in (NAMED | CAUSAL_NAMED).items() if type(one.recipe) in kinds.values()}
    return named | {name: Option(kind(), (kind.__doc__ or "").strip()) for name, kind in kinds.items()}
