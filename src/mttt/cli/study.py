"""mttt study"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

from mttt.cli.arguments import check_file, unknown
from mttt.runs import versions, write_json
from mttt.studies import Row, costs

KINDS = {"costs": "parameters and FLOPs of every row of tables 1 and 3"}
TITLES = {1: "Table 1: ImageNet from patches, n = 196", 3: "Table 3: ImageNet from raw pixels, n = 50,176"}


@dataclass(frozen=True)
class Arguments:
    """Count parameters and FLOPs of every row of the paper's tables 1 and 3. Nothing is trained or run."""

    json: Path | None = None
    """write all numbers to this file"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    if not words or words[0] in ("-h", "--help"):
        console.print("usage: mttt study WHAT …\n\n" + "\n".join(f"  {k}  {v}" for k, v in KINDS.items()))
        console.print("\nmttt study costs --help tells more.", highlight=False)
        return 0 if words else 2
    if words[0] not in KINDS:
        raise unknown("study", words[0], list(KINDS))
    arguments = tyro.cli(Arguments, args=words[1:], prog=f"mttt study {words[0]}")
    if arguments.json is not None:
        check_file(arguments.json)
    numbers = {"costs": _costs}[words[0]](console)
    if arguments.json is not None:
        write_json(arguments.json, numbers)
        console.print(f"Numbers: {arguments.json}", highlight=False, soft_wrap=True)
    return 0


def _costs(console: Console) -> dict[str, Any]:
    with console.status("starting") as status:
        say: Callable[[str], None] = lambda words: status.update(words)  # noqa: E731
        rows = costs(say=say)
    notes: list[str] = []
    for table in dict.fromkeys(row.table for row in rows):
        console.print(_table(TITLES[table], [row for row in rows if row.table == table], notes))
    apart = max(abs(row.flops_analytic / row.flops_xla - 1) for row in rows)
    console.print(
        "Millions of parameters, without and with positions. FLOPs of a forward pass, of one image more in a batch, by "
        "XLA and by formulas; × is relative to linear attention with identity map, in table 3 that of ViT-Tiny. "
        f"The two counts differ by {apart:.1%} at most.",
        highlight=False,
    )
    for number, note in enumerate(notes, 1):
        console.print(f"[{number}] {note}", highlight=False, markup=False)
    return {"rows": [row.json() for row in rows], "versions": versions()}


def _times(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def _table(title: str, rows: list[Row], notes: list[str]) -> Table:
    """Rows, each beside the paper's figures. Its notes are numbered and added to the others."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), title_style="bold")
    table.add_column("ViT", no_wrap=True)
    table.add_column("layer", overflow="fold")
    for name in ("params\nM", "with\npos.", "paper\nM", "GFLOP\nXLA", "×\nXLA", "×\nform.", "×\npaper"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        if row.note and row.note not in notes:
            notes.append(row.note)
        mark = f" [{notes.index(row.note) + 1}]" if row.note else ""
        table.add_row(
            row.size.title(),
            (row.layer + mark).replace("[", r"\["),
            f"{row.parameters_without_positions / 1e6:.1f}",
            f"{row.parameters / 1e6:.1f}",
            f"{row.paper_parameters:.1f}",
            f"{row.flops_xla / 1e9:,.1f}",
            _times(row.relative_xla),
            _times(row.relative_analytic),
            f"{row.paper_relative_flops:.1f}×" if row.paper_relative_flops < 10 else f"{row.paper_relative_flops:.0f}×",
        )
    return table
