"""What decides the numbers of a run besides its recipe, and where it began."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np

from mttt.version import __version__


def versions() -> dict[str, str]:
    """What decides the numbers besides the recipe."""
    packages = ("jax", "jaxlib", "equinox", "optax", "grain", "numpy")
    return {"python": platform.python_version(), "mttt": __version__} | {name: version(name) for name in packages}


def x64() -> bool:
    """Whether JAX computes with 64 bits where it is not told otherwise (JAX_ENABLE_X64)."""
    return jax.dtypes.canonicalize_dtype(np.float64) == np.float64


def machine() -> str:
    """What kind of machine this is, for people: its accelerators, or else its processors."""
    devices = jax.devices()
    if devices[0].platform != "cpu":
        return f"{len(devices)} × {devices[0].device_kind}"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        kind = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        kind = platform.processor() or platform.machine()
    return f"{os.cpu_count()} × {kind}"
