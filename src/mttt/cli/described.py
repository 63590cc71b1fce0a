"""What a command says of itself: the docstring of its arguments. First what it does, then examples.

class Arguments:
    '''Let a trained language model write.

    Examples:
        mttt generate runs/shakespeare --prompt ROMEO  # continue a line
    '''

Where several commands share a class, `{prog}` stands for the command.
"""

import inspect
from typing import NamedTuple

_HEADING = "\n\nExamples:\n"


class Described(NamedTuple):
    """The docstring's two parts."""

    about: str
    examples: tuple[str, ...]


def described(structure: type, prog: str = "") -> Described:
    """What is said of a command whose arguments these are."""
    about, _, below = (inspect.getdoc(structure) or "").partition(_HEADING)
    lines = (line.strip().replace("{prog}", prog) for line in below.splitlines())
    return Described(" ".join(about.split()), tuple(line for line in lines if line))


def shown(examples: tuple[str, ...]) -> str:
    """Examples as the last part of a help text."""
    heading = "Example:" if len(examples) == 1 else "Examples:"
    return "\n".join([heading, *(f"  {line}" for line in examples)])
