"""Keep memory that a step gives back, for the next step.

On the CPU, XLA takes its buffers from malloc when a step begins, and frees them when it ends. The C library of most
Linux systems passes large ones on to the system, which has to clear every page of them again at the next step: nearly a
third of the time of a training step. Nothing else changes, and no number.
"""

import ctypes
import os
import sys

# Names of glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8


def keep_memory() -> bool:
    """Ask the C library to keep what is freed; True if it agreed. Who has settings of their own keeps them."""
    own = any(name.startswith("MALLOC_") or name in ("GLIBC_TUNABLES", "LD_PRELOAD") for name in os.environ)
    if own or sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another C library
        return False
    # From one heap, none of it by a mapping of its own, and none of it ever given back.
    return all([mallopt(M_ARENA_MAX, 1), mallopt(M_MMAP_MAX, 0), mallopt(M_TRIM_THRESHOLD, -1)])
