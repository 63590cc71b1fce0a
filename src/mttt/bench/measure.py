"""Measuring programs: interleaved, so that a slow moment of the machine meets all contestants alike."""

import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.compilation_cache import compilation_cache

from mttt.version import __version__


@dataclass
class Timing:
    """One contestant at one shape. Milliseconds are the best of all rounds; medians have their own fields.

    FLOPs are useful ones: recomputation is a means, not work. `step_flops_executed` has it too (`mttt.count`).
    `temp_bytes` is what XLA's buffers for the step need at once, besides inputs and outputs. What did not run has no
    times.
    """

    layer: str
    shape: str
    tokens: int
    forward_ms: float | None = None
    step_ms: float | None = None
    forward_median_ms: float | None = None
    step_median_ms: float | None = None
    forward_flops: int | None = None
    step_flops: int | None = None
    step_flops_executed: int | None = None
    temp_bytes: int | None = None
    forward_temp_bytes: int | None = None
    against_self_attention: dict[str, float] | None = None
    against_linear_attention: dict[str, float] | None = None
    against_naive: dict[str, float] | None = None
    fraction_of_peak: float | None = None

    def ratios(self, other: "Timing") -> dict[str, float]:
        """Every number that both have, over the other's."""
        names = (
            "forward_ms",
            "step_ms",
            "forward_median_ms",
            "step_median_ms",
            "forward_flops",
            "step_flops",
            "step_flops_executed",
            "temp_bytes",
            "forward_temp_bytes",
        )
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in names}
        return {name: a / b for name, (a, b) in pairs.items() if a is not None and b}


@dataclass
class Measurements:
    """Timings, the machine's matmul peak in the same rounds, and what ran where."""

    rows: list[Timing]
    matmul_peak_flops: float
    repeats: int
    extra: dict[str, Any] = field(default_factory=dict)

    def of(self, layer: str, shape: str) -> Timing | None:
        """What a contestant took."""
        return next((row for row in self.rows if (row.layer, row.shape) == (layer, shape)), None)

    def ratios(self, row: Timing, layer: str) -> dict[str, float] | None:
        """A row over that of another layer at the same shape, if it took part."""
        base = self.of(layer, row.shape)
        return None if base is None else row.ratios(base)

    def json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "matmul_peak_flops": self.matmul_peak_flops,
            "repeats": self.repeats,
            **self.extra,
            **machine(),
        }


def machine() -> dict[str, Any]:
    """Versions and the kind of machine."""
    return {
        "mttt": __version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "backend": jax.default_backend(),
        "device": jax.devices()[0].device_kind,
        "devices": jax.device_count(),
    }


def temp_bytes(compiled: Any) -> int:
    """Bytes of temporary buffers."""
    return compiled.memory_analysis().temp_size_in_bytes


def available_bytes() -> int | None:
    """Memory that a program may still take, or None where the system does not say."""
    stats = jax.devices()[0].memory_stats()  # of an accelerator
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0)
    found = []
    with suppress(OSError, StopIteration):
        line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
        found.append(1024 * int(line.split()[1]))
    with suppress(OSError, ValueError):  # ValueError: "max", that is no limit
        group = Path("/sys/fs/cgroup")
        limit, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        found.append(limit - used)
    return min(found, default=None)


def seconds(run: Callable[[], Any]) -> float:
    """One call, waited for."""
    start = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - start


def interleave(
    runs: dict[Any, Callable[[], Any]], repeats: int, progress: Callable[[int], None] = lambda done: None
) -> dict[Any, list[float]]:
    """Each of the calls in turn, `repeats` times over, after one call of each that does not count."""
    for run in runs.values():
        jax.block_until_ready(run())
    times: dict[Any, list[float]] = {name: [] for name in runs}
    for done in range(repeats):
        for name, run in runs.items():
            times[name].append(seconds(run))
        progress(done + 1)
    return times


@contextmanager
def without_compilation_cache() -> Iterator[None]:
    """Every program is compiled anew. JAX looks at this setting once, at its first compilation, hence the resets."""
    before = jax.config.jax_enable_compilation_cache  # pyright: ignore[reportAttributeAccessIssue]
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)
        compilation_cache.reset_cache()


def milliseconds(times: list[float]) -> tuple[float, float]:
    """Best and median."""
    return 1e3 * min(times), 1e3 * statistics.median(times)


PEAK = 2048  # side of the square matmul that stands for the machine's peak


def peak_run() -> Callable[[], Any]:
    """A matmul to be interleaved with the others."""
    a = jnp.ones((PEAK, PEAK))
    multiply = jax.jit(jnp.matmul)
    return lambda: multiply(a, a)


def peak_flops(times: list[float]) -> float:
    """FLOP/s of the best of those matmuls."""
    return 2 * PEAK**3 / min(times)


def resident_bytes() -> int:
    """The most memory that this process has had so far."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
