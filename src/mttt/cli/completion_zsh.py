"""Completion for zsh: for each command a call of _arguments, zsh's own function for flags and places."""

from collections.abc import Iterator, Sequence
from shlex import quote

from mttt.cli.commands import Command, short
from mttt.cli.taken import Argument, Expected

_BEGIN = r"""#compdef mttt
# Completion of mttt for zsh, by `mttt completion zsh`.

__mttt_runs() { # _mttt_runs is the command
    local -a found
    found=(runs/*/recipe.json(N:h))
    compadd -f -a found || _files -/
}

"""
_END = r"""
if [[ $funcstack[1] == _mttt ]]; then
    _mttt "$@"
else
    compdef _mttt mttt
fi
"""


def zsh(commands: Sequence[Command]) -> str:
    """The script."""
    return _BEGIN + "\n".join(_function(command) for command in commands) + _END


def _function(command: Command) -> str:
    """What completes one command. Those below it have functions of their own."""
    lines = [quote(spec) for spec in _specs(command)]
    body = " \\\n        ".join([f"_arguments{' -C' * bool(command.below)}", *lines])
    deeper = _deeper(command) if command.below else ""
    return f"{_name(command.words)}() {{\n    local curcontext=$curcontext state line\n    {body}\n{deeper}}}\n"


def _deeper(command: Command) -> str:
    names = "\n".join(f"        {quote(f'{name}:{short(about)}')}" for name, about in command.below.items())
    cases = "\n".join(f"        {name}) {_name((*command.words, name))} ;;" for name in command.below)
    return (
        f"    local -a below=(\n{names}\n    )\n"
        f"    case $state in\n    first) _describe command below ;;\n"
        f"    rest)\n        case $line[1] in\n{cases}\n        esac\n        ;;\n    esac\n"
    )


def _specs(command: Command) -> Iterator[str]:
    for flag in command.flags:
        yield f"{flag.name}[{_escaped(short(flag.about))}]{_after(flag)}"
    if command.below:
        yield "1: :->first"
        yield "*:: :->rest"
    # After a flag of several values, _arguments would take the next flag for one of them: all but the first are places.
    many = [flag.value for flag in command.flags if flag.value is not None and flag.value.many]
    if many and not command.places:
        yield f"*:value:{_action(Expected('words', tuple(dict.fromkeys(word for one in many for word in one.words))))}"
    for place, value in enumerate(command.places, 1):
        yield f"{'*' if value.many else place}:{value.kind}:{_action(value)}"


def _after(flag: Argument) -> str:
    if flag.value is None:
        return ""
    return f":value:{_action(flag.value)}"


def _action(value: Expected) -> str:
    return {"words": f"({' '.join(value.words)})", "file": "_files", "run": "__mttt_runs", "text": ""}[value.kind]


def _name(words: Sequence[str]) -> str:
    return "_".join(["_mttt", *words])


def _escaped(text: str) -> str:
    for mark in "\\[]:":
        text = text.replace(mark, f"\\{mark}")
    return text
