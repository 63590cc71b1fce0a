"""All commands, and what each takes: what a shell needs to know to complete them."""

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mttt.cli.main import COMMANDS
from mttt.cli.taken import Argument, Expected, taken
from mttt.recipes import PRESETS

_HELP = "what a command does and takes"


@dataclass(frozen=True)
class Command:
    """A command, by its words: either it has commands below it, or it takes something."""

    words: tuple[str, ...]
    below: dict[str, str] = field(default_factory=dict)
    """their names, and what is said of them"""
    takes: tuple[Argument, ...] = ()

    @property
    def places(self) -> list[Expected]:
        """How the words that are no flags are completed, one after the other."""
        values = [one.value for one in self.takes if one.placed]
        return [value for value in values if value is not None]

    @property
    def flags(self) -> list[Argument]:
        return [one for one in self.takes if not one.placed]


def all_commands() -> list[Command]:
    """The table. A command's module has KINDS, its subcommands, or Arguments."""
    commands = [
        Command((), COMMANDS | {"help": _HELP}, _common("--version")),
        Command(("help",), takes=(_words("COMMAND", COMMANDS),)),
    ]
    for name in COMMANDS:
        commands += _of_module(name)
    return commands


def short(about: str) -> str:
    """So much of a description as stands beside a name."""
    return about.partition(";")[0].partition(". ")[0].removesuffix(".")


def _of_module(name: str) -> Iterator[Command]:
    module = importlib.import_module(f"mttt.cli.{name}")
    if not hasattr(module, "KINDS"):
        # The recipe of a training has fields for True and False, not switches; and the preset is no field.
        first = (_words("PRESET", PRESETS),) if name == "train" else ()
        yield Command((name,), takes=(*first, *taken(module.Arguments, switches=name != "train"), *_common()))
        return
    yield Command((name,), {below: says for below, (_, says) in module.KINDS.items()}, _common())
    for below, (structure, _) in module.KINDS.items():
        yield Command((name, below), takes=(*taken(structure), *_common()))


def _words(name: str, words: Iterable[str]) -> Argument:
    return Argument(name, "", Expected("words", tuple(words)))


def _common(*more: str) -> tuple[Argument, ...]:
    return tuple(Argument(flag, "", None) for flag in ("--help", *more))
