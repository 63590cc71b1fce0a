"""The command line: find the command, call it, turn what users can cause into one clear message."""

import hashlib
import importlib
import io
import logging
import os
import platform
import sys
from pathlib import Path

from rich.console import Console

from mttt.cli.memory import keep_memory
from mttt.cli.say import printable
from mttt.version import __version__

COMMANDS = {
    "train": "train a model, or go on with a run",
    "runs": "list runs: what differs, how far they are, accuracy",
    "evaluate": "accuracy and inner losses of a trained model, for any number of inner steps",
    "predict": "classify pictures with a trained model",
    "presets": "list the presets",
    "data": "look at a data set before training on it",
    "bench": "measure speed, memory and FLOPs on this machine",
    "study": "the paper's tables, with its numbers beside ours",
}


def _usage() -> str:
    commands = "\n".join(f"  {name:10}{about}" for name, about in COMMANDS.items())
    return f"usage: mttt COMMAND …\n\n{commands}\n\nmttt COMMAND --help tells more; mttt --version is {__version__}."


def main(words: list[str] | None = None) -> None:
    """The program `mttt`."""
    words = sys.argv[1:] if words is None else words
    if not words or words[0] in ("-h", "--help"):
        print(_usage())
        sys.exit(0 if words else 2)
    if words[0] == "--version":
        print(f"mttt {__version__}")
        sys.exit(0)
    # Imports wait until here: --help and --version should not take the seconds that JAX does.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    logging.getLogger("absl").setLevel(logging.ERROR)  # Orbax remarks on options that we mean
    keep_memory()
    from mttt.cli.arguments import UsageError, unknown
    from mttt.data import BadData, BadExample
    from mttt.outer import NotFinite, WrongNumbers
    from mttt.runs import RunError

    _keep_compiled_programs()
    for stream in (sys.stdout, sys.stderr):  # an ASCII terminal gets \\u2026 instead of a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    console = Console()
    try:
        if words[0] not in COMMANDS:
            raise unknown("command", words[0], list(COMMANDS))
        sys.exit(importlib.import_module(f"mttt.cli.{words[0]}").main(words[1:], console))
    except (UsageError, RunError) as error:
        _fail(error, 2)
    except (NotFinite, WrongNumbers, BadData, BadExample, OSError) as error:  # OSError: no permission, no space
        _fail(error, 1)
    except KeyboardInterrupt:  # before there was anything to save
        sys.exit(130)


def _keep_compiled_programs() -> None:
    """Compile once for all runs, unless the user has said where to keep programs (or that they are not to be kept)."""
    import jax

    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = cache / "mttt" / _processor()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return
    if os.access(folder, os.W_OK):
        jax.config.update("jax_compilation_cache_dir", str(folder))
        if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
        # Loading a kept program, XLA warns of processor features that are only LLVM's preferences. What is really wrong
        # with a program comes as an exception.
        if "JAX_LOGGING_LEVEL" not in os.environ:
            jax.config.update("jax_logging_level", "CRITICAL")


def _processor() -> str:
    """A name for this kind of processor: home directories are shared by machines that cannot run each other's code."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next(line for line in lines if line.startswith(("flags", "Features")))  # x86, ARM
    except (OSError, StopIteration):
        flags = platform.processor()
    return f"{platform.machine()}-{hashlib.sha256(flags.encode()).hexdigest()[:8]}"


def _fail(error: Exception, code: int) -> None:
    print(printable(f"mttt: {error}"), file=sys.stderr)
    sys.exit(code)
