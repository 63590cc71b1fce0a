"""Commands of a command: each has a dataclass of the arguments that it takes, and no others."""

from collections.abc import Mapping
from typing import Annotated, Any, Union

import tyro

from mttt.cli.arguments import unknown
from mttt.cli.parsing import parsed


def take_subcommand(
    command: str, about: str, kinds: Mapping[str, tuple[type, str]], words: list[str]
) -> tuple[str, Any]:
    """The name of a subcommand and its arguments. `kinds` has the class of each, and what `--help` says of it."""
    if words and not words[0].startswith("-") and words[0] not in kinds:
        raise unknown(f"{command} command", words[0], list(kinds))
    each = [
        Annotated[kind, tyro.conf.subcommand(name=name, description=says, prefix_name=False)]
        for name, (kind, says) in kinds.items()
    ]
    # A union of one is no union, hence None.
    one_of = Union[(*each, Annotated[None, tyro.conf.Suppress])]
    arguments = parsed(one_of, words, prog=f"mttt {command}", description=about)  # pyright: ignore
    return words[0], arguments
