"""Fields that choose: those that hold one of a few dataclasses, each of which declares its name.

class Full:
    kind: ClassVar[str] = "full"

class Inner:
    batching: Full | Mini = Full()  # a choice, even if there is only one kind so far
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from mttt.fields.error import join


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that a value may have."""
    return get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)


def kinds(hint: Any) -> dict[str, type]:
    """What a field of this type may hold, by name; nothing if it is no choice."""
    named = ((getattr(one, "kind", None), one) for one in alternatives(hint) if isinstance(one, type))
    return {name: one for name, one in named if name is not None and is_dataclass(one)}


@cache
def typed_fields(structure: type) -> dict[str, Any]:
    """The fields of a dataclass with their types."""
    hints = get_type_hints(structure)
    return {field.name: hints[field.name] for field in fields(structure)}


def choices(part: Any, path: str = "") -> dict[str, dict[str, type]]:
    """The fields of a part that choose, by path, and the kinds of each. Fields are those of what is chosen now."""
    found: dict[str, dict[str, type]] = {}
    for name, hint in typed_fields(type(part)).items():
        here, value = join(path, name), getattr(part, name)
        if named := kinds(hint):
            found[here] = named
        if is_dataclass(value):
            found |= choices(value, here)
    return found


def possible_choices(structure: type, path: str = "") -> Iterator[str]:
    """The paths of all fields that choose, whatever is chosen elsewhere."""
    for name, hint in typed_fields(structure).items():
        here = join(path, name)
        if kinds(hint):
            yield here
        for one in alternatives(hint):
            if is_dataclass(one) and isinstance(one, type):
                yield from possible_choices(one, here)
