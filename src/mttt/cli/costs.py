"""mttt study costs"""

from typing import Any

from rich.console import Console
from rich.table import Table

from mttt.cli.waiting import waiting
from mttt.runs import versions
from mttt.studies import Cost, costs

TITLES = {1: "Table 1: ImageNet from patches, n = 196", 3: "Table 3: ImageNet from raw pixels, n = 50,176"}


def show_costs(console: Console) -> dict[str, Any]:
    """Count and print; the numbers."""
    with waiting("starting") as say:
        rows = costs(say=say)
    notes: list[str] = []
    for table in dict.fromkeys(row.table for row in rows):
        console.print(_table(TITLES[table], [row for row in rows if row.table == table], notes))
    apart = max(abs(row.flops_analytic / row.flops_counted - 1) for row in rows)
    console.print(
        "Millions of parameters, without and with positions. FLOPs of a forward pass, of one image more in a batch, "
        "counted from the program and by formulas; × is relative to linear attention with identity map, in table 3 "
        "that of ViT-Tiny. "
        f"The two counts differ by {apart:.1%} at most.",
        highlight=False,
    )
    for number, note in enumerate(notes, 1):
        console.print(f"[{number}] {note}", highlight=False, markup=False)
    return {"rows": [row.json() for row in rows], "versions": versions()}


def _times(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def _table(title: str, rows: list[Cost], notes: list[str]) -> Table:
    """Rows, each beside the paper's figures. Its notes are numbered and added to the others."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), title_style="bold")
    table.add_column("ViT", no_wrap=True)
    table.add_column("layer", overflow="fold")
    for name in ("params\nM", "with\npos.", "paper\nM", "GFLOP\n", "×\ncount", "×\nform.", "×\npaper"):
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
            f"{row.flops_counted / 1e9:,.1f}",
            _times(row.relative_counted),
            _times(row.relative_analytic),
            f"{row.paper_relative_flops:.1f}×" if row.paper_relative_flops < 10 else f"{row.paper_relative_flops:.0f}×",
        )
    return table
