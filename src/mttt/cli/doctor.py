"""mttt doctor"""

import json
import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jax
from rich.console import Console

from mttt.cli.parsing import parsed
from mttt.cli.say import count, say
from mttt.cli.waiting import waiting
from mttt.devices import placement_of
from mttt.outer import WrongNumbers, self_check
from mttt.training import memory_limit
from mttt.version import __version__


@dataclass(frozen=True)
class Arguments:
    """Look at this machine: versions, devices, memory, and whether numbers come out right. Exit code 1 if not.

    Examples:
        mttt doctor
        mttt doctor --json
    """

    json: bool = False
    """print all of it as JSON"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = parsed(Arguments, words, prog="mttt doctor")
    with waiting("looking at the devices"):
        found = examine()
    if arguments.json:
        say(console, json.dumps(found, indent=2))
    else:
        _show(found, console)
    return 1 if found["problems"] else 0


def examine() -> dict[str, Any]:
    """What there is, and what is wrong with it."""
    problems = []
    try:
        self_check()
    except WrongNumbers as error:
        problems.append(str(error))
    problems += _accelerators_not_used()
    memory = memory_limit()
    devices = jax.devices()
    return {
        "mttt": __version__,
        "python": platform.python_version(),
        "packages": {
            name: _version(name) for name in ("jax", "jaxlib", "equinox", "optax", "orbax-checkpoint", "grain")
        },
        "backend": jax.default_backend(),
        "devices": [str(device.device_kind) for device in devices],
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": memory,
        "placement": str(placement_of()),
        "problems": problems,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _accelerators_not_used() -> list[str]:
    """There is a chip, and JAX does not see it: the plain wheels of JAX are for CPUs."""
    if jax.default_backend() != "cpu" or os.environ.get("JAX_PLATFORMS") == "cpu":
        return []
    chips = {
        "an NVIDIA GPU": ("/dev/nvidia0", "cuda12 or cuda13"),
        "an AMD GPU": ("/dev/kfd", "rocm"),
        "a TPU": ("/dev/accel0", "tpu"),
    }
    return [
        f"this machine has {name}, and JAX runs on the CPU: install its plugin, for example with the extra {extra} of "
        "mttt-jax (README, Accelerators)"
        for name, (path, extra) in chips.items()
        if Path(path).exists()
    ]


def _show(found: dict[str, Any], console: Console) -> None:
    packages = ", ".join(f"{name} {number or 'missing'}" for name, number in found["packages"].items())
    memory = "unknown" if found["memory_bytes"] is None else f"{found['memory_bytes'] / 2**30:.1f} GiB"
    kinds = ", ".join(sorted(set(found["devices"])))
    lines = [
        ("mttt", f"{found['mttt']}, Python {found['python']}"),
        ("packages", packages),
        ("devices", f"{count(len(found['devices']), 'device')} ({kinds}), {count(found['processors'], 'processor')}"),
        ("memory", f"{memory} for {'this machine' if found['backend'] == 'cpu' else 'each device'}"),
        ("numbers", "right" if not any("wrong numbers" in text for text in found["problems"]) else "WRONG"),
        ("a training", f"would run on {found['placement']}"),
    ]
    for name, text in lines:
        say(console, f"{name:11} {text}")
    for text in found["problems"]:
        say(console, f"\nProblem: {text}")
    if not found["problems"]:
        say(console, "No problems found.")
