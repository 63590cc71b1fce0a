"""mttt bench page"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mttt import bench
from mttt.cli.waiting import waiting
from mttt.fields import FieldError


@dataclass(frozen=True)
class Traces:
    """How long the page of mttt watch waits for a picture's trace: the first, and those after it.

    Examples:
        mttt bench page --json page.json
    """

    pictures: int = 40
    """how many; each is asked for once in each row"""
    json: Path | None = None
    """write all numbers to this file"""

    def check(self) -> None:
        if not 2 <= self.pictures <= 360:
            raise FieldError(
                "pictures", self.pictures, "must be 2 to 360, the test pictures that come with the program"
            )

    def measure(self, console: Console) -> dict[str, Any]:
        with waiting("starting") as say:
            found = bench.page_bench(pictures=self.pictures, say=say)
        table = Table(box=None, padding=(0, 1))
        table.add_column(f"trace of a picture, {found['model']}")
        for name in ("first", "median after it", "slowest", "target", ""):
            table.add_column(name, justify="right", no_wrap=True)
        for row in found["rows"]:
            times = [f"{1000 * row[name]:,.0f} ms" for name in ("first", "median", "slowest")]
            missed = "missed" if row["median"] > found["target"] else ""
            table.add_row(row["what"], *times, f"≤ {1000 * found['target']:.0f} ms", missed)
        console.print(table)
        return found
