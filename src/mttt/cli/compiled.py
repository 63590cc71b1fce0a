"""Compiled programs, kept on disk for the next time."""

import hashlib
import os
import platform
from pathlib import Path


def keep_compiled_programs() -> None:
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
