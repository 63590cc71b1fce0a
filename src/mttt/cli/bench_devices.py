"""mttt bench devices"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from mttt import bench
from mttt.cli.arguments import UsageError, check_file, unknown
from mttt.cli.waiting import waiting
from mttt.fields import FieldError


@dataclass(frozen=True)
class Meshes:
    """A training step on 1 to 256 emulated devices: memory, FLOPs, what is sent.

    Examples:
        mttt bench devices --cases patches
    """

    cases: tuple[str, ...] = tuple(bench.CASES)
    """patches (ViT-Small, n = 196), pixels (ViT-Tiny, n = 50,176); both with the paper's batch of 1024"""
    json: Path | None = None
    """write all numbers to this file"""
    figure: Path | None = None
    """draw the bounds against the number of devices into this PNG file"""

    def check(self) -> None:
        for name in self.cases:
            if name not in bench.CASES:
                raise unknown("case", name, list(bench.CASES))
        if not self.cases:
            raise FieldError("cases", None, "name at least one")
        if self.figure is not None:
            check_file(self.figure)
            if find_spec("matplotlib") is None:
                raise UsageError("--figure needs matplotlib: pip install matplotlib")
        # Before JAX has looked for devices.
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", bench.MOST)

    def measure(self, console: Console) -> dict[str, Any]:
        with waiting("starting") as say:
            found = bench.devices_bench(dict.fromkeys(self.cases), say=say)
        show_devices(found, console)
        if self.figure is not None:
            with waiting("drawing"):
                bench.draw_devices(found, self.figure)
            console.print(f"Figure: {self.figure}", highlight=False, soft_wrap=True)
        return found


def show_devices(found: dict[str, Any], console: Console) -> None:
    """A row for each mesh."""
    chips = [chip["name"] for chip in found["accelerators"]]
    table = Table(box=None, padding=(0, 1))
    table.add_column("model", no_wrap=True)
    for name in ("data × sequence", "GiB", "TFLOP", "sent MiB", *(f"{chip} step s" for chip in chips)):
        table.add_column(name, justify="right")
    before = ""
    for row in found["rows"]:
        if before and before != row["case"]:
            table.add_row()
        cells = [_bound(row["bounds"][chip]) for chip in chips]
        numbers = (row["memory_bytes"] / 2**30, row["flops"] / 1e12, row["sent_bytes"] / 2**20)
        table.add_row(
            row["case"] if before != row["case"] else "",
            f"{row['data']} × {row['sequence']}",
            *(f"{number:,.3g}" if number < 1000 else f"{number:,.0f}" for number in numbers),
            *cells,
        )
        before = row["case"]
    console.print(table)
    console.print(
        "On each device: memory of the compiled step, useful FLOPs, bytes sent. Seconds: a step takes at least the "
        "larger of FLOPs / peak and bytes / link of a published accelerator; (c) is the link. –: does not fit.",
        highlight=False,
    )


def _bound(bound: dict[str, Any]) -> str:
    if not bound["fits"]:
        return "–"
    return f"{bound['step_seconds']:.2g}" + (" (c)" if bound["send_seconds"] > bound["compute_seconds"] else "")
