"""How much memory there is."""

import resource
from pathlib import Path

import jax


def memory_limit() -> int | None:
    """Bytes that programs can have: of an accelerator, what JAX may take of it; None where nobody says."""
    device = jax.local_devices()[0]
    if device.platform != "cpu":
        return (device.memory_stats() or {}).get("bytes_limit")
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        total, swap = (1024 * int(lines[name].split()[0]) for name in ("MemTotal", "SwapTotal"))
    except (OSError, KeyError, ValueError):  # another system than Linux
        return None
    limits = [total + swap, *(limit + swap for limit in _group_limits())]
    own, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min([*limits, own] if own != resource.RLIM_INFINITY else limits)


def _group_limits(root: Path = Path("/")) -> list[int]:
    """Of the control groups that this process is in, and of those around them: a container or a batch system."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, kind, group = line.split(":", 2)
        if kind not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / kind
        name = "memory.limit_in_bytes" if kind else "memory.max"
        here = top / group.lstrip("/")
        for folder in [here, *here.parents]:
            if folder.is_relative_to(top):
                found += _limit(folder / name)
    return found


def _limit(file: Path) -> list[int]:
    try:
        return [int(file.read_text())]
    except (OSError, ValueError):  # the word max, or a group of another name space
        return []
