"""mttt watch"""

import os
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from mttt.cli.arguments import UsageError, check_file, refusing
from mttt.cli.parsing import parsed
from mttt.cli.say import count, say
from mttt.cli.waiting import waiting
from mttt.outer import self_check
from mttt.watch.export import export, is_export
from mttt.watch.models import Entry, catalogue
from mttt.watch.server import Server
from mttt.watch.service import Service

_MOST_EXAMPLES = 200


@dataclass(frozen=True)
class Arguments:
    """Watch a trained model learn on one input, in the browser: every step, from the prediction to single numbers.

    Examples:
        mttt watch                                     # models that come with mttt
        mttt watch runs/digits                         # also while it trains
        mttt watch runs/digits runs/digits-attention   # one beside the other
        mttt watch runs/digits --export page.html      # in one file
    """

    runs: tyro.conf.Positional[tuple[Path, ...]] = ()
    """directories of runs; also one that is training. Small models that come with the program are there in any case"""
    port: int = 8765
    """of this machine, where only this machine can reach it; 0 is any that is free"""
    browser: bool = True
    """open the page in the browser"""
    export: Annotated[Path | None, tyro.conf.arg(metavar="FILE.html")] = None
    """write the page with some answers to one file instead: for people without the program"""
    examples: int = 12
    """how many pictures or pieces of text of the evaluation data to offer, or to export"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = parsed(Arguments, words, prog="mttt watch")
    _check(arguments)
    with waiting("opening the models"):
        with refusing():
            models = catalogue(arguments.runs, examples=arguments.examples)
        self_check()
    if arguments.export is not None:
        return _export(arguments.export, models, len(arguments.runs), console)
    return _serve(arguments, models, console)


def _check(arguments: Arguments) -> None:
    if not 0 <= arguments.port < 2**16:
        raise UsageError(f"--port {arguments.port}: expected a port, 0 to 65535; 0 is any that is free")
    if not 1 <= arguments.examples <= _MOST_EXAMPLES:
        raise UsageError(f"--examples {arguments.examples}: expected a whole number from 1 to {_MOST_EXAMPLES}")
    if arguments.export is not None:
        check_file(arguments.export)
        if arguments.export.exists() and not is_export(arguments.export):
            raise UsageError(f"{arguments.export} is there and was not made by this command; choose another name")


def _serve(arguments: Arguments, models: dict[str, Entry], console: Console) -> int:
    try:
        server = Server(Service(models), arguments.port)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"--port {arguments.port} cannot be used ({reason}); take another, or 0 for any") from error
    with server:
        say(console, f"Watching {', '.join(models)} at {server.address}")
        say(console, "Only this machine can open it. Ctrl-C ends it.")
        if arguments.browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say(console, "")
    if not server.service.stop():
        # A program that is being compiled in a thread would abort the whole process when Python ends.
        sys.stdout.flush()
        os._exit(0)
    return 0


def _export(path: Path, models: dict[str, Entry], runs: int, console: Console) -> int:
    """The runs that were named, or else what comes with the program."""
    chosen = {id: models[id] for id in list(models)[: runs or len(models)]}
    for id, entry in chosen.items():
        if entry.source.why_not is not None:
            raise UsageError(f"{id} cannot be exported. {entry.source.why_not}")
        if entry.no_examples is not None:
            raise UsageError(f"{id} cannot be exported. {entry.no_examples}")
    with waiting("computing the answers") as line:
        made = export(path, chosen, say=line)
    say(console, f"{path}: {count(made.answers, 'answer')}, {made.bytes / 1e6:.1f} MB; open it in any browser")
    return 0
