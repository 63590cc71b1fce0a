"""tyro's parsing, with refusals in one sentence instead of a box."""

import difflib
import io
import re
from collections.abc import Sequence
from contextlib import redirect_stderr
from typing import Any, TypeVar

import tyro

from mttt.cli.arguments import UsageError
from mttt.fields import FieldError

T = TypeVar("T")


def parsed(structure: type[T], words: Sequence[str], *, known: Sequence[str] = (), **tyro_options: Any) -> T:
    """The arguments of a command. What tyro refuses is one sentence, as everything else that is refused.

    `known` are the flags that a misspelt one is compared with.
    """
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            arguments, rest = tyro.cli(structure, args=words, return_unknown_args=True, **tyro_options)
    except SystemExit as stopped:
        if not stopped.code:
            raise
        raise _refused(stopped, said.getvalue()) from None
    if rest:
        raise _unknown_flag(rest[0].partition("=")[0], known)
    return arguments


def _refused(stopped: SystemExit, box: str) -> Exception:
    """What tyro says in its box, up to the first rule; or the error of a field that caused it, with its whole path."""
    lines = [line.strip("│ ") for line in re.split(r"\n│? ?─{3}", box)[0].splitlines() if line.startswith("│")]
    said = " ".join(lines).removeprefix("Error parsing ").removesuffix(".")
    cause: BaseException | None = stopped
    while cause is not None and not isinstance(cause, FieldError):
        cause = cause.__context__
    if cause is None:
        return UsageError(said)
    part = said.partition(":")[0].removeprefix("recipe").removeprefix(".")
    return cause.under("" if part.startswith("-") else part)


def _unknown_flag(given: str, known: Sequence[str]) -> UsageError:
    """Somebody who knows the last part of a flag need not know the rest."""
    ends = [name for name in known if name.rpartition(".")[2] == given.rpartition(".")[2].removeprefix("--")]
    near = ends[:1] or difflib.get_close_matches(given, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else "; --help lists all options"
    return UsageError(f"unknown option {given}{hint}" if given.startswith("-") else f"unknown word '{given}'{hint}")
