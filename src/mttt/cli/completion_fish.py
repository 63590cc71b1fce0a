"""Completion for fish: a line for each command and for each flag."""

from collections.abc import Iterator, Sequence

from mttt.cli.commands import Command, short
from mttt.cli.taken import Argument, Expected

_BEGIN = r"""# Completion of mttt for fish, by `mttt completion fish`.

# Whether these are the words of the command, and no other follows them.
function __mttt_at
    set -l words (commandline -opc)[2..]
    test "$words[1..$(count $argv)]" = "$argv"
end

# Whether the last flag is this one: it takes several values.
function __mttt_after
    string match -q -- $argv[1] (string match -- '-*' (commandline -opc))[-1]
end

# Whether there is no word yet but those of the command.
function __mttt_first
    set -l words (commandline -opc)[2..]
    test "$words" = "$argv"
end

function __mttt_runs
    for file in runs/*/recipe.json (commandline -ct)*/recipe.json
        path dirname $file
    end
    __fish_complete_directories
end

complete -c mttt -f
"""


def fish(commands: Sequence[Command]) -> str:
    """The script."""
    return _BEGIN + "".join(f"{line}\n" for command in commands for line in _lines(command))


def _lines(command: Command) -> Iterator[str]:
    at, first = (_words([name, *command.words]) for name in ("__mttt_at", "__mttt_first"))
    for name, about in command.below.items():
        yield f"complete -c mttt -n {_quoted(first)} -a {name} -d {_quoted(short(about))}"
    for place, value in enumerate(command.places):
        where = first if value.kind == "words" and not place else at
        yield f"complete -c mttt -n {_quoted(where)} {_value(value)}"
    for flag in command.flags:
        yield f"complete -c mttt -n {_quoted(at if command.words else first)} {_flag(flag)}"
        if flag.value is not None and flag.value.many and flag.value.words:
            after = f"{at}; and __mttt_after {flag.name}"
            yield f"complete -c mttt -n {_quoted(after)} {_value(flag.value)}"


def _flag(flag: Argument) -> str:
    about = f" -d {_quoted(short(flag.about))}" if flag.about else ""
    value = "" if flag.value is None else " -r " + _value(flag.value)
    return f"-l {flag.name.removeprefix('--')}{value}{about}"


def _value(value: Expected) -> str:
    """What is offered: words, runs, files, or nothing."""
    offered = {"words": " ".join(value.words), "run": "(__mttt_runs)"}.get(value.kind)
    return "-F" if value.kind == "file" else "-f" if offered is None else f"-f -a {_quoted(offered)}"


def _words(words: Sequence[str]) -> str:
    return " ".join(words)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
