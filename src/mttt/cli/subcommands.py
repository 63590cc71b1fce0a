"""Commands of a command: each has a dataclass of the arguments that it takes, and no others."""

import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from mttt.cli.arguments import UsageError, unknown
from mttt.cli.described import described, shown
from mttt.cli.parsing import parsed

Kinds = Mapping[str, tuple[type, str]]
"""the class of each subcommand's arguments, and what is said of it"""


def kinds_of(structures: Mapping[str, type]) -> dict[str, tuple[type, str]]:
    """Subcommands that are described by their own classes."""
    return {name: (structure, described(structure).about) for name, structure in structures.items()}


def take_subcommand(command: str, about: str, kinds: Kinds, words: list[str]) -> tuple[str, Any]:
    """The name of a subcommand and its arguments."""
    if not words:
        raise UsageError(f"mttt {command} needs a command: {', '.join(kinds)}; mttt {command} --help tells more")
    name, *rest = words
    if name in ("-h", "--help"):
        print(_usage(command, about, kinds))
        sys.exit(0)
    if name not in kinds:
        raise unknown(f"{command} command", name, list(kinds))
    structure, says = kinds[name]
    return name, parsed(structure, rest, prog=f"mttt {command} {name}", about=says)


def _usage(command: str, about: str, kinds: Kinds) -> str:
    columns, width = shutil.get_terminal_size().columns, max(map(len, kinds)) + 2
    lines = [
        textwrap.fill(says, columns, initial_indent=f"  {name:{width}}", subsequent_indent=" " * (width + 2))
        for name, (_, says) in kinds.items()
    ]
    # One of each class: tables that differ in their names only would fill the page.
    firsts = {structure: described(structure, f"mttt {command} {name}") for name, (structure, _) in kinds.items()}
    examples = shown(tuple(one.examples[0].partition("  #")[0] for one in firsts.values() if one.examples))
    more = f"mttt {command} COMMAND --help tells more."
    return "\n".join(
        [f"usage: mttt {command} COMMAND …\n", textwrap.fill(about, columns), "", *lines, "", examples, "", more]
    )
