"""tyro's parsing, with refusals in one sentence instead of a box."""

import difflib
import io
import re
from collections.abc import Sequence
from contextlib import redirect_stderr
from typing import Any

import tyro

from mttt.cli.arguments import UsageError
from mttt.fields import FieldError


def parsed(structure: Any, words: Sequence[str], *, known: Sequence[str] = (), **tyro_options: Any) -> Any:
    """The arguments of a command. What tyro refuses is one sentence, as everything else that is refused.

    `known` are the flags that a misspelt one is compared with.
    """
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            return tyro.cli(structure, args=words, **tyro_options)
    except SystemExit as stopped:
        if not stopped.code:
            raise
        text = _sentence(said.getvalue())
        if (given := re.match(r"Unrecognized[^:]*: ?([^\s,]+)", text)) is not None:
            raise _unknown(given[1].partition("=")[0], known) from None
        raise _refused(stopped, text) from None


def _sentence(box: str) -> str:
    """The first part of what is in tyro's box. Its title is in the frame, or above a rule where there is no frame."""
    lines = [line.strip("│ ") for line in re.sub(r"\x1b\[[0-9;]*m", "", box).splitlines()]
    parts: list[list[str]] = [[]]
    for line in lines:
        if re.match(r"[╭╰─]|---", line):
            parts.append([])
        elif line:
            parts[-1].append(line)
    filled = [" ".join(part) for part in parts if part] + ["these words are not understood; see --help"] * 2
    return filled[0 if "│" in box else 1].removeprefix("Error parsing ").removesuffix(".")


def _refused(stopped: SystemExit, text: str) -> Exception:
    """The error of a field, if one caused it, with its whole path; or what tyro says."""
    cause: BaseException | None = stopped
    while cause is not None and not isinstance(cause, FieldError):
        cause = cause.__context__
    if cause is None:
        return UsageError(text)
    part = text.partition(":")[0].removeprefix("recipe").removeprefix(".")
    return cause.under("" if part.startswith("-") else part)


def _unknown(given: str, known: Sequence[str]) -> UsageError:
    """Somebody who knows the last part of a flag need not know the rest."""
    ends = [name for name in known if name.rpartition(".")[2] == given.rpartition(".")[2].removeprefix("--")]
    near = ends[:1] or difflib.get_close_matches(given, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else "; --help lists all options"
    return UsageError(f"unknown option {given}{hint}" if given.startswith("-") else f"unknown word '{given}'{hint}")
