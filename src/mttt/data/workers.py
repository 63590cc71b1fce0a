"""Worker processes that make batches.

Not Grain's own: they pass arrays through shared memory, of which containers have little and which a stopped run leaves
behind, and take up to half a minute to end.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_function: Callable[..., Any] | None = None  # what this process is a worker for


def _begin(function: Callable[..., Any], parent: int) -> None:
    global _function
    _function = function
    # Ctrl-C, `timeout` and batch systems signal whole groups of processes. The process that trains decides what to do;
    # workers leave its group, and forget what came while they started (SIG_IGN drops a signal that waits).
    os.setpgid(0, 0)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)  # it was killed, and told nobody

    threading.Thread(target=end_with_parent, daemon=True).start()


def _nothing() -> None: ...


def _call(*arguments: Any) -> Any:
    assert _function is not None
    return _function(*arguments)


class WorkerLost(OSError):
    """A worker process ended."""


class Workers:
    """`count` processes that each hold `function`. A call runs it in one of them, and waits."""

    def __init__(self, function: Callable[..., Any], count: int):
        # Forks of a process with threads, as JAX has them, can hang: spawn.
        context = multiprocessing.get_context("spawn")
        initargs = (function, os.getpid())
        self._pool = ProcessPoolExecutor(count, context, initializer=_begin, initargs=initargs)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # inherited, until `_begin`
        try:
            self._pool.submit(_nothing)  # starts all of them
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self._pool.submit(_call, *arguments).result()
        except BrokenProcessPool as error:
            raise WorkerLost("a worker process ended; was it out of memory? Try fewer workers") from error

    def close(self) -> None:
        """End them."""
        self._pool.shutdown(wait=False, cancel_futures=True)
