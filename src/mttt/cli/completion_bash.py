"""Completion for bash: tables of what each command takes, and a function that finds the place of the word."""

from collections.abc import Iterator, Sequence
from shlex import quote

from mttt.cli.commands import Command
from mttt.cli.taken import Expected

_SCRIPT = r"""# Completion of mttt for bash, by `mttt completion bash`.

_mttt_flags() {
    case $1 in
@flags@
    esac
}

# How the value of a flag, or the word at a place, is completed. A flag that is not here takes none.
_mttt_value() {
    case $1 in
@values@
    esac
}

_mttt_runs() {
    local file found=
    for file in "$1"*/recipe.json runs/*/recipe.json; do
        [[ -f $file && $file == "$1"* ]] && found=yes && printf '%s\n' "${file%/recipe.json}"
    done
    [[ -n $found ]] || compgen -d -- "$1"
}

_mttt_reply() {
    local kind=${1%% *} words=${1#* } line
    case $kind in
    words*) COMPREPLY=($(compgen -W "$words" -- "$2")) ;;
    file* | run*)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
            if [[ $kind == run* ]]; then _mttt_runs "$2"; else compgen -f -- "$2"; fi
        )
        ;;
    esac
}

_mttt() {
    local current=${COMP_WORDS[COMP_CWORD]} command= flag= place=1 value word
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word == = ]] && continue # bash splits --flag=value
        if [[ $word == -* ]]; then
            flag=$word
            [[ -n $(_mttt_value "$command $flag") ]] || flag=
            continue
        fi
        if [[ -n $flag ]]; then
            value=$(_mttt_value "$command $flag")
            [[ ${value%% *} == *'*' ]] || flag=
            continue
        fi
        value=$(_mttt_value "$command $place")
        case ${value%% *} in
        command) command="${command:+$command }$word" ;;
        *'*') ;;
        *) place=$((place + 1)) ;;
        esac
    done
    [[ $current == = ]] && current=
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$(_mttt_flags "$command")" -- "$current"))
    elif [[ -n $flag ]]; then
        _mttt_reply "$(_mttt_value "$command $flag")" "$current"
    else
        value=$(_mttt_value "$command $place")
        _mttt_reply "${value/#command/words}" "$current"
    fi
}

complete -F _mttt mttt
"""


def bash(commands: Sequence[Command]) -> str:
    """The script."""
    flags = (_case([_name(one)], " ".join(flag.name for flag in one.flags)) for one in commands)
    values = (line for one in commands for line in _values(one))
    return _SCRIPT.replace("@flags@", "\n".join(flags)).replace("@values@", "\n".join(values))


def _values(command: Command) -> Iterator[str]:
    here = _name(command)
    if command.below:
        yield _case([f"{here} 1"], f"command {' '.join(command.below)}")
    for place, value in enumerate(command.places, 1):
        yield _case([f"{here} {place}"], _value(value))
    same: dict[str, list[str]] = {}
    for flag in command.flags:
        if flag.value is not None:
            same.setdefault(_value(flag.value), []).append(f"{here} {flag.name}")
    for text, names in same.items():
        yield _case(names, text)


def _name(command: Command) -> str:
    return " ".join(command.words)


def _value(value: Expected) -> str:
    return " ".join([value.kind + "*" * value.many, *value.words])


def _case(patterns: Sequence[str], text: str) -> str:
    return f"    {' | '.join(map(quote, patterns))}) echo {quote(text)} ;;"
