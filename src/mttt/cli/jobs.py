"""Several processes for one study, each on processors of its own. The locks of their directory divide the work."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack

from rich.console import Console

from mttt.cli.arguments import UsageError
from mttt.cli.say import say
from mttt.outer import Interrupt

_POLL = 0.2  # seconds


def check_jobs(jobs: int) -> None:
    """At least one, and no more than there are processors: two trainings on one of them gain nothing."""
    most = len(_processors())
    if not 1 <= jobs <= most:
        raise UsageError(f"--jobs {jobs}: take 1 to {most}, one for each processor of this machine")


def divide(words: Sequence[str], jobs: int, console: Console) -> int:
    """Train what `mttt study WORDS` would train, in so many processes; 0, or the exit code of one that failed."""
    processors = _processors()
    with ExitStack() as ends, Interrupt() as interrupt:  # closes pipes, waits for the workers
        workers = [ends.enter_context(_start(words, processors[number::jobs])) for number in range(jobs)]
        readers = [threading.Thread(target=_pass_on, args=(w, f"[{n}] ", console)) for n, w in enumerate(workers, 1)]
        for reader in readers:
            reader.start()
        told = False
        while any(reader.is_alive() for reader in readers):
            if interrupt.requested is not None and not told:
                told = True
                for worker in workers:
                    worker.send_signal(interrupt.requested)
            for reader in readers:
                reader.join(_POLL / jobs)
    if interrupt.requested is not None:
        return 128 + interrupt.requested
    return next((_code(worker.returncode) for worker in workers if worker.returncode), 0)


def _processors() -> list[int]:
    """Those that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def _start(words: Sequence[str], processors: Sequence[int]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "mttt.cli.study_worker", ",".join(map(str, processors)), *words],
        stdin=subprocess.PIPE,  # at its end the worker knows that nobody waits for it any more
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # a Ctrl-C comes to it once, from here
    )


def _pass_on(worker: "subprocess.Popen[str]", name: str, console: Console) -> None:
    assert worker.stdout is not None
    for line in worker.stdout:
        if line.strip():
            say(console, name + line.rstrip())


def _code(returned: int) -> int:
    """Of a shell: a process that a signal ended has its number and 128."""
    return 128 - returned if returned < 0 else returned


def work_alone(processors: str) -> None:
    """Called first in a worker: use only these processors, and stop as Ctrl-C does when nobody waits any more."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [int(number) for number in processors.split(",")])

    def wait() -> None:
        os.read(0, 1)  # nobody writes, so this is its end; Python's own reader would hold a lock when Python ends
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
