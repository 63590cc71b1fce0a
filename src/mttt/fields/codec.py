"""Dataclasses to JSON and back, by the types of their fields. What declares a kind is written with it."""

from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

from mttt.fields.error import FieldError, join
from mttt.fields.kinds import alternatives, kinds, typed_fields

T = TypeVar("T")
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", type(None): "null"}


def encode(part: Any) -> Any:
    """Plain JSON of a dataclass."""
    if not is_dataclass(part):
        return part
    kind = getattr(part, "kind", None)
    return ({} if kind is None else {"kind": kind}) | {
        field.name: encode(getattr(part, field.name)) for field in fields(part)
    }


def decode(structure: type[T], value: Any) -> T:
    """The dataclass that `encode` wrote. What is unknown is refused: guessing would give something else."""
    return _decode(structure, value, "")


def _decode(hint: Any, value: Any, path: str) -> Any:
    named = kinds(hint)
    if not named and not is_dataclass(hint):
        return _plain(hint, value, path)
    if not isinstance(value, dict):
        raise FieldError(path or "the whole", value, "must be an object with fields")
    structure = _named(value.get("kind"), named, path) if named else cast(type, hint)
    if named:
        value = {name: inside for name, inside in value.items() if name != "kind"}
    known = typed_fields(structure)
    for name in value:
        if name not in known:
            raise FieldError(join(path, name), value[name], f"unknown field; known: {', '.join(known)}")
    parts = {name: _decode(known[name], inside, join(path, name)) for name, inside in value.items()}
    try:
        return structure(**parts)
    except FieldError as error:  # it does not know where it is
        raise error.under(path) from None


def _named(kind: Any, named: dict[str, type], path: str) -> type:
    for one in named.values():
        if kind is None and getattr(one, "implied", False):  # written when there was no other kind
            return one
    if not isinstance(kind, str) or kind not in named:
        raise FieldError(join(path, "kind"), kind, f"unknown; known: {', '.join(named)}")
    return named[kind]


def _plain(hint: Any, value: Any, path: str) -> Any:
    for one in alternatives(hint):
        if get_origin(one) is Literal:
            if value in get_args(one):
                return value
        elif type(value) is one:
            return value
        elif one is float and type(value) is int:
            return float(value)
    raise FieldError(path, repr(value), f"must be {' or '.join(map(_words, alternatives(hint)))}")


def _words(hint: Any) -> str:
    return f"one of {', '.join(map(str, get_args(hint)))}" if get_origin(hint) is Literal else _WORDS[hint]
