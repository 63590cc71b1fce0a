"""tyro's parsing, with refusals in one sentence instead of a box."""

import difflib
import io
import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from typing import Any

import tyro

from mttt.cli.arguments import UsageError
from mttt.cli.described import described, shown
from mttt.cli.taken import flags
from mttt.fields import FieldError


def parsed(
    structure: type,
    words: Sequence[str],
    *,
    prog: str,
    known: Sequence[str] | None = None,
    about: str | None = None,
    description: str | None = None,
    **tyro_options: Any,
) -> Any:
    """The arguments of a command. What tyro refuses is one sentence, as everything else that is refused.

    What it does (`about`, or a `description` in lines) and examples are in the docstring of the structure. A misspelt
    flag is compared with those of the structure, or with those that are `known`.
    """
    said, (says, examples) = io.StringIO(), described(structure, prog)
    description = description or _filled(about or says)
    try:
        with redirect_stderr(said):
            return tyro.cli(structure, args=words, prog=prog, description=description, **tyro_options)
    except SystemExit as stopped:
        if not stopped.code:
            if examples:
                print(f"\n{shown(examples)}")
            raise
        text = _sentence(said.getvalue())
        if (given := re.match(r"Unrecognized[^:]*: ?([^\s,]+)", text)) is not None:
            raise _unknown(given[1].partition("=")[0], words, known or flags(structure)) from None
        raise _refused(stopped, text) from None


def _filled(text: str) -> str:
    """Text in lines that the terminal has room for. tyro joins lines again, except those that begin with a space."""
    return textwrap.indent(textwrap.fill(text, shutil.get_terminal_size().columns - 2), "  ")


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
    return filled[0 if "│" in box else 1].removeprefix("Error parsing ")


def _refused(stopped: SystemExit, text: str) -> Exception:
    """The error of a field, if one caused it, with its whole path; or what tyro says."""
    cause: BaseException | None = stopped
    while cause is not None and not isinstance(cause, FieldError):
        cause = cause.__context__
    if cause is None:
        return UsageError(_plain(text))
    part = text.partition(":")[0].removeprefix("recipe").removeprefix(".")
    return cause.under("" if part.startswith("-") else part)


JSON_PRINTS = "--json prints JSON and takes no file; to save it, end the command with --json > FILE"

_KINDS = {"INT": "a whole number", "FLOAT": "a number"}
_SAYINGS: list[tuple[str, Callable[[re.Match[str]], str]]] = [
    (r"Missing value for argument '(\S+)'", lambda m: f"{m[1]} needs a value; --help says which"),
    (r"Missing from (.+?): (\S+) (.+) \(required\)", lambda m: f"{m[1]} needs {m[2]}: {m[3]}"),
    (
        r"invalid choice '(.*)' for argument '(\S+)'\. Expected one of \((.*)\)",
        lambda m: _expected(m[2], m[1], re.findall(r"'([^']*)'", m[3])),
    ),
    (r"(\S+): invalid literal for int\(\).*: '(.*)'", lambda m: _expected(m[1], m[2], ["INT"])),
    (r"(\S+): could not convert string to float: '(.*)'", lambda m: _expected(m[1], m[2], ["FLOAT"])),
    (
        r"(\S+): no type matching (\S+) could be instantiated from \['(.*?)'\]",
        lambda m: _expected(m[1], m[3], [one.strip("{}") for one in m[2].split("|") if one != "{None}"]),
    ),
    (
        r"(\S+): Could not find valid parse for arguments: \['(.*)'\]",
        lambda m: _expected(m[1], m[2], ["whole numbers"]),
    ),
]
"""what tyro says, and how this program says it: the flag, what came, what was expected"""


def _expected(name: str, came: str, wanted: Sequence[str]) -> str:
    return f"{name} {came or 'without a value'}: expected {' or '.join(_KINDS.get(one, one) for one in wanted)}"


def _plain(text: str) -> str:
    for pattern, saying in _SAYINGS:
        if (found := re.match(pattern, text)) is not None:
            return saying(found)
    return text.removesuffix(".")


_CALLED = {"lr": "--optimizer.rate", "learning-rate": "--optimizer.rate"}
"""what other programs call a flag"""


def _unknown(given: str, words: Sequence[str], known: Sequence[str]) -> UsageError:
    """Somebody who knows the last part of a flag need not know the rest, nor which flags take a value."""
    before = words[words.index(given) - 1] if given in words[1:] and not given.startswith("-") else ""
    if before == "--json":
        return UsageError(f"{given}: {JSON_PRINTS}")
    if before.startswith("--") and "=" not in before:
        return UsageError(f"{before} takes no value, and '{given}' came after it")
    bare = given.lstrip("-")
    called = [name for name in known if name == _CALLED.get(bare)]
    ends = [name for name in known if name.rpartition(".")[2].lstrip("-") == bare.rpartition(".")[2]]
    # Without the dashes, which all have in common.
    close = difflib.get_close_matches(bare, [name.lstrip("-") for name in known], n=1)
    near = [*called, *ends, *(f"--{name}" for name in close)]
    hint = f"; did you mean {near[0]}?" if near else "; --help lists all options"
    return UsageError(f"unknown option {given}{hint}" if given.startswith("-") else f"unknown word '{given}'{hint}")
