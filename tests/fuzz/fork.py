"""One piece of work in a process of its own, with limits: everything is imported once, and forked."""

import atexit
import contextlib
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fuzz.watch import WROTE_OUTSIDE, watch

PATIENCE = 30  # seconds, for who was asked to stop
BYTES = 8 * 2**30
CODES = {0, 1, 2, *(128 + number for number in signal.Signals)}
HANGING = (-signal.SIGTERM, -signal.SIGKILL)


class Outcome(NamedTuple):
    failure: str | None
    code: int


def run_forked(work: Callable[[], object], home: Path, *, may_write: tuple[Path, ...], seconds: float) -> Outcome:
    """Why the work failed, or None, and its exit code.

    What it prints is in `home`/out and `home`/err; it works in `home`/here.
    """
    (home / "here").mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _work(work, home, (home, *may_write))
    status, asked = _wait(child, seconds)
    code = os.waitstatus_to_exitcode(status)
    return Outcome(_judge(code, asked, home), code)


def _wait(child: int, seconds: float) -> tuple[int, bool]:
    """Its status, and whether it had to be asked. Who takes long is asked to stop: a training saves and goes."""
    begin, asked, killed = time.monotonic(), False, False
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        took = time.monotonic() - begin
        if took > seconds and not asked:
            asked = True
            os.kill(child, signal.SIGTERM)
        if took > seconds + PATIENCE and not killed:
            killed = True
            os.kill(child, signal.SIGKILL)
        time.sleep(0.003)
    with contextlib.suppress(ProcessLookupError):  # processes that it left behind
        os.killpg(child, signal.SIGKILL)
    return ended[1], asked


def _judge(code: int, asked: bool, home: Path) -> str | None:
    said = "".join((home / name).read_text(errors="replace") for name in ("out", "err"))
    if code == WROTE_OUTSIDE:
        return "wrote outside of its directory"
    if asked and code in HANGING:
        return "took too long"
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    if code not in CODES:
        return f"exit code {code}"
    return "traceback" if "Traceback (most recent call last)" in said else None


def _work(work: Callable[[], object], home: Path, inside: tuple[Path, ...]) -> None:
    """In the child: never returns."""
    code = 1
    try:
        os.setsid()
        _redirect(home)
        folders = {"HOME": home / "home", "XDG_CACHE_HOME": home / "cache", "TMPDIR": home / "tmp"}
        for name, folder in folders.items():
            folder.mkdir(exist_ok=True)
            os.environ[name] = str(folder)
        tempfile.tempdir = None
        os.chdir(home / "here")
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        watch(inside)
        code = _code(work)
        threading._shutdown()  # as Python ends: threads that are waited for, then what was registered
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _redirect(home: Path) -> None:
    for number, place in enumerate((os.devnull, home / "out", home / "err")):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        os.dup2(os.open(place, flags, 0o644), number)


def _code(work: Callable[[], object]) -> int:
    """As Python would end."""
    try:
        work()
    except SystemExit as stopped:
        if isinstance(stopped.code, int | None):
            return (stopped.code or 0) & 0xFF
        print(stopped.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
