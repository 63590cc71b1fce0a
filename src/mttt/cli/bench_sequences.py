"""mttt bench sequences"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mttt import bench
from mttt.cli.arguments import unknown
from mttt.cli.waiting import waiting
from mttt.fields import FieldError
from mttt.recipes.check import positive

ROWS = (*bench.DUELS, "million", "generation")


@dataclass(frozen=True)
class Reads:
    """Learning while reading: undo, dual and WY forms against plain ones; long inputs; writing.

    Examples:
        mttt bench sequences --rows million
        mttt bench sequences --json sequences.json
    """

    rows: tuple[str, ...] = ROWS
    """what to measure"""
    repeats: int = 5
    """rounds; the table has their medians"""
    json: Path | None = None
    """write all numbers to this file"""

    def check(self) -> None:
        for name in self.rows:
            if name not in ROWS:
                raise unknown("row", name, list(ROWS))
        if not self.rows:
            raise FieldError("rows", None, "name at least one")
        positive(repeats=self.repeats)

    def measure(self, console: Console) -> dict[str, Any]:
        chosen = list(dict.fromkeys(self.rows))
        with waiting("starting") as say:
            duels = [name for name in chosen if name in bench.DUELS]
            rows = bench.sequences_bench(duels, repeats=self.repeats, say=say)
            if "million" in chosen:
                say("million: one gradient, in a process of its own")
                rows.append(bench.million_bench())
            if "generation" in chosen:
                rows.append(bench.generation_bench(repeats=self.repeats, say=say))
        show_sequences(rows, console)
        return bench.sequences_json(rows, self.repeats)


_UNITS = {"time": "× time", "memory": "× memory", "resident": " GiB", "difference": " apart"}


def show_sequences(rows: list[dict[str, Any]], console: Console) -> None:
    """A line for each number that has a target."""
    table = Table(box=None, padding=(0, 1))
    table.add_column("what", overflow="fold")
    for name in ("found", "target", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        for at, (name, most) in enumerate(row["targets"].items()):
            found = f"{row[name]:.3g}{_UNITS[name]}"
            table.add_row("" if at else row["about"], found, f"≤ {most:g}", "" if row[name] <= most else "missed")
    console.print(table)
