"""mttt completion"""

from dataclasses import dataclass
from typing import Literal

import tyro
from rich.console import Console

from mttt.cli.commands import all_commands
from mttt.cli.completion_bash import bash
from mttt.cli.completion_fish import fish
from mttt.cli.completion_zsh import zsh
from mttt.cli.parsing import parsed

SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


@dataclass(frozen=True)
class Arguments:
    """Print a script that lets a shell complete commands, presets, flags, their values, runs and files. It starts no
    Python, so it is quick; print it again after an upgrade.

    Examples:
        mttt completion bash > ~/.local/share/bash-completion/completions/mttt
        mttt completion zsh > ~/.zfunc/_mttt  # a directory in $fpath
        mttt completion fish > ~/.config/fish/completions/mttt.fish
    """

    shell: tyro.conf.Positional[Literal["bash", "zsh", "fish"]]
    """which shell"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = parsed(Arguments, words, prog="mttt completion")
    print(SHELLS[arguments.shell](all_commands()), end="")
    return 0
