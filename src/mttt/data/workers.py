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

_function: Callable[..., Any] | None = None  # what this process is a worker for


def _begin(function: Callable[..., Any], parent: int) -> None:
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the one that trains decides

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)  # it was killed, and told nobody

    threading.Thread(target=end_with_parent, daemon=True).start()


def _call(*arguments: Any) -> Any:
    assert _function is not None
    return _function(*arguments)


class Workers:
    """`count` processes that each hold `function`. A call runs it in one of them, and waits."""

    def __init__(self, function: Callable[..., Any], count: int):
        # Forks of a process with threads, as JAX has them, can hang: spawn.
        context = multiprocessing.get_context("spawn")
        initargs = (function, os.getpid())
        self._pool = ProcessPoolExecutor(count, context, initializer=_begin, initargs=initargs)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self._pool.submit(_call, *arguments).result()
        except BrokenProcessPool as error:
            raise OSError("a worker process ended; was it out of memory? Try fewer: --workers") from error

    def close(self) -> None:
        """End them."""
        self._pool.shutdown(wait=False, cancel_futures=True)
