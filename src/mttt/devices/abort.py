"""A sentence where JAX would end the process by abort()."""

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def before_abort(say: Callable[[], None]) -> Iterator[None]:
    """Call `say` before the process is aborted. It may end the process in another way; else the abort goes on.

    jaxlib's client of `jax.distributed` aborts when the processes do not find each other in time, or when process 0 is
    gone, with a stack trace of its own and often in a thread of its own. There is no option against it: the callback
    that its constructor takes fails on its own argument (std::bad_cast), and process 0 is needed even where
    `jax_enable_recoverability` is set. A handler made by `signal.signal` would wait for the main thread, which may
    never run again. So the handler is one of the C library, which runs at once in the thread that aborts.
    """
    if os.name != "posix":
        yield
        return

    def handle(_: int) -> None:
        with suppress(Exception):
            say()

    library = ctypes.CDLL(None)
    library.signal.restype = ctypes.c_void_p
    library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(handle)
    before = library.signal(signal.SIGABRT, ctypes.cast(handler, ctypes.c_void_p))
    try:
        yield
    finally:
        library.signal(signal.SIGABRT, before)
