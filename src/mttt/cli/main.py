"""The command line: find the command, call it, turn what users can cause into one clear message."""

# Nothing else is imported before `main` has seen to it that Ctrl-C ends the program without a traceback.
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from mttt.version import __version__

COMMANDS = {
    "train": "train a model, or continue a run",
    "runs": "list runs: what differs, how far they are, accuracy",
    "compare": "curves and results of several runs side by side",
    "track": "show runs in TensorBoard, Weights & Biases or Trackio",
    "evaluate": "accuracy and inner losses of a trained model, for any T",
    "predict": "classify pictures with a trained model",
    "watch": "see a trained model learn, in the browser",
    "generate": "let a trained language model write",
    "presets": "list the presets",
    "data": "look at a data set before training on it",
    "doctor": "look at this machine: versions, devices, memory",
    "bench": "measure speed, memory and FLOPs on this machine",
    "study": "the paper's tables, with its numbers beside ours",
    "completion": "a script that lets your shell complete commands, flags and runs",
}


def _usage() -> str:
    commands = "\n".join(f"  {name:12}{about}" for name, about in COMMANDS.items())
    example = "Example:\n  mttt train digits"
    more = f"mttt COMMAND --help and mttt help COMMAND tell more; mttt --version is {__version__}."
    return f"usage: mttt COMMAND …\n\n{commands}\n\n{example}\n\n{more}"


def main(words: list[str] | None = None) -> None:
    """The program `mttt`."""
    words = sys.argv[1:] if words is None else words
    with _ended_by_interrupt():
        if words[:1] == ["help"]:  # mttt help bench layers
            words = [*words[1:], "--help"]
        if not words or words[0] in ("-h", "--help"):
            print(_usage())
            sys.exit(0 if words else 2)
        if words[0] == "--version":
            print(f"mttt {__version__}")
            sys.exit(0)
        from mttt.cli.waiting import waiting

        with waiting("starting"):
            call = _command(words)
    _run(call)


def _command(words: list[str]) -> Callable[[], int]:
    """What to call. --help and --version should not take the seconds that JAX does, so imports wait until here."""
    import importlib
    import io
    import logging

    from mttt.cli.memory import keep_memory

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    logging.getLogger("absl").setLevel(logging.ERROR)  # Orbax remarks on options that we mean
    keep_memory()
    from rich.console import Console

    from mttt.cli.arguments import UsageError, unknown
    from mttt.cli.compiled import keep_compiled_programs

    keep_compiled_programs()
    for stream in (sys.stdout, sys.stderr):  # an ASCII terminal gets \\u2026 instead of a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if words[0].startswith("-"):
        _fail(UsageError(f"unknown option {words[0]}; before a command there are --help and --version"), 2)
    if words[0] not in COMMANDS:
        _fail(unknown("command", words[0], list(COMMANDS)), 2)
    command = importlib.import_module(f"mttt.cli.{words[0]}").main
    console = Console()
    console.on_broken_pipe = _reader_gone  # Rich would exit at once, and a training save nothing
    return lambda: command(words[1:], console)


def _reader_gone() -> NoReturn:
    raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _run(call: Callable[[], int]) -> None:
    """Run a command, and end with its exit code."""
    from mttt.cli.arguments import UsageError
    from mttt.data import BadData, BadExample
    from mttt.outer import NotFinite, WrongNumbers
    from mttt.runs import NotWritten, RunError

    try:
        with _warnings_in_a_line():
            sys.exit(call())
    except (NotFinite, WrongNumbers, BadData, BadExample, NotWritten) as error:
        _fail(error, 1)
    except (UsageError, RunError) as error:
        _fail(error, 2)
    except BrokenPipeError:  # whoever read the output has enough
        _fail(None, 128 + signal.SIGPIPE)
    except OSError as error:  # no permission, no space
        _fail(error, 1)
    except KeyboardInterrupt:  # before there was anything to save
        sys.exit(128 + signal.SIGINT)


@contextmanager
def _ended_by_interrupt() -> Iterator[None]:
    """Nothing is to be saved here, and an exception would come out of the middle of somebody's import."""
    if signal.getsignal(signal.SIGINT) != signal.default_int_handler:  # ignored, or somebody else's
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: _end())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end() -> NoReturn:
    if (waiting := sys.modules.get("mttt.cli.waiting")) is not None and hasattr(waiting, "erase"):
        waiting.erase()
    os._exit(128 + signal.SIGINT)


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """What a library user gets as a warning about a run is a line for people here."""
    import warnings

    from mttt.runs import DamagedCheckpoint

    with warnings.catch_warnings():
        show = warnings.showwarning

        def line(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
            if issubclass(category, DamagedCheckpoint):
                _say_error(message)
            else:
                show(message, category, *rest, **named)

        warnings.showwarning = line
        warnings.simplefilter("always", DamagedCheckpoint)
        yield


def _say_error(error: object) -> None:
    from mttt.cli.say import printable

    with suppress(OSError):  # nobody may be there to read it
        print(printable(f"mttt: {error}"), file=sys.stderr, flush=True)


def _fail(error: Exception | None, code: int) -> NoReturn:
    if error is not None:
        _say_error(error)
    try:
        sys.stdout.flush()
    except OSError:  # Python would try again, and print a traceback
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
