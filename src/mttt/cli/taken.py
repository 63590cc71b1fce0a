"""What a command takes, read from the dataclass of its arguments: flags, words that have a place, and their values."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

from mttt.fields.kinds import alternatives, kinds
from mttt.recipes.options import options_of

_RUNS = ("run", "runs", "from")
_FILES = ("path", "data")  # texts that name files
_PLACED = tyro.conf.Positional[int].__metadata__[0]  # pyright: ignore


@dataclass(frozen=True)
class Expected:
    """What may follow a flag, or stand at a place."""

    kind: Literal["words", "file", "run", "text"]
    words: tuple[str, ...] = ()
    many: bool = False


@dataclass(frozen=True)
class Argument:
    """A flag, or a word that has its place."""

    name: str
    about: str
    value: Expected | None
    """nothing for a switch"""

    @property
    def placed(self) -> bool:
        return not self.name.startswith("-")


def taken(structure: type, *, switches: bool = True) -> list[Argument]:
    """All that a command takes, whatever is chosen. Where there are no switches, such fields take True or False."""
    found: dict[str, Argument] = {}
    for one in _fields(structure, "", switches):
        before = found.get(one.name)
        found[one.name] = one if before is None else _either(before, one)
    return list(found.values())


def flags(structure: type) -> list[str]:
    """The flags of a command."""
    return [one.name for one in taken(structure) if not one.placed]


def _either(one: Argument, other: Argument) -> Argument:
    """A field that several kinds have."""
    if one.value is None or other.value is None or one.value.kind != other.value.kind:
        return one
    words = tuple(dict.fromkeys(one.value.words + other.value.words))
    return Argument(one.name, one.about, Expected(one.value.kind, words, one.value.many))


def _fields(structure: type, path: str, switches: bool) -> Iterator[Argument]:
    hints, texts = get_type_hints(structure, include_extras=True), _texts(structure)
    for field in fields(structure):
        hint, marks = hints[field.name], ()
        if get_origin(hint) is Annotated:
            hint, *marks = get_args(hint)
        named = next((mark.name for mark in marks if getattr(mark, "name", None) is not None), field.name)
        about = next((mark.help for mark in marks if getattr(mark, "help", None)), texts.get(field.name, ""))
        here = f"{path}.{named}".strip(".")
        parts = [one for one in alternatives(hint) if is_dataclass(one) and isinstance(one, type)]
        if kinds(hint):
            yield Argument(_flag(here), about, Expected("words", tuple(options_of(hint))))
        for part in parts:
            yield from _fields(part, here, switches)
        if hint is bool:
            switch = Argument(f"--no{_flag(here)[1:]}" if field.default is True else _flag(here), about, None)
            yield switch if switches else Argument(_flag(here), about, Expected("words", ("True", "False")))
        elif not parts:
            name = named.upper() if _PLACED in marks else _flag(here)
            yield Argument(name, about, _value(hint, named.rpartition(".")[2], field.default))


def _flag(path: str) -> str:
    return f"--{path.replace('_', '-')}"


def _value(hint: Any, name: str, default: Any) -> Expected:
    """How a value of this type is completed. A list's default names what there is."""
    if many := get_origin(hint) is tuple:
        hint = get_args(hint)[0]
    types = alternatives(hint)
    words = tuple(word for one in types if get_origin(one) is Literal for word in get_args(one) if word is not None)
    if many and hint is str and isinstance(default, tuple):
        words = default
    if words:
        return Expected("words", tuple(map(str, words)), many)
    if Path in types or (str in types and name in _FILES):
        return Expected("run" if name in _RUNS else "file", many=many)
    return Expected("text", many=many)


@cache
def _texts(structure: type) -> dict[str, str]:
    """The docstrings of the fields, which Python does not keep."""
    found: dict[str, str] = {}
    for one in reversed(structure.__mro__):
        if is_dataclass(one):
            body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
            assert isinstance(body, ast.ClassDef)
            for field, text in pairwise(body.body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    found[ast.unparse(field.target)] = ast.literal_eval(text.value)
    return found
