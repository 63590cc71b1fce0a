"""mttt compare"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mttt.cli.arguments import UsageError, check_file
from mttt.cli.parsing import parsed
from mttt.cli.progress import duration
from mttt.cli.runs import progress_of, row_of, short_numbers, words_in
from mttt.cli.say import one_line, say
from mttt.cli.waiting import waiting
from mttt.fields import differences
from mttt.recipes import encode, recipe_of
from mttt.recipes.purpose import TextData
from mttt.report import Curves, draw_comparison
from mttt.report.plots import can_draw
from mttt.runs import Record, Run, short_names

_FIGURES = (".png", ".svg")


@dataclass(frozen=True)
class Arguments:
    """Compare runs, also those that are being trained: how their recipes differ, results, speeds; their curves.

    Examples:
        mttt compare runs/digits runs/digits-steps4
        mttt compare runs/digits runs/digits-seed1 --figure curves.png --over step
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """directories of the runs"""
    figure: Path | None = None
    """draw training loss, results and inner losses into this PNG or SVG file"""
    over: Literal["epoch", "step"] = "epoch"
    """what the curves are drawn against"""
    json: bool = False
    """print JSON: all numbers of the table, and every field of the recipes that is not the same in all runs"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = parsed(Arguments, words, prog="mttt compare")
    _check(arguments)
    with waiting("reading the runs"):
        runs = [Run.open(path) for path in {path.resolve(): path for path in arguments.runs}.values()]
        rows = [_row(run) for run in runs]
        curves = [_curves(run, row["name"]) for run, row in zip(runs, _named(rows), strict=True)]
        for row, run, curve in zip(rows, runs, curves, strict=True):
            row |= _speed(curve.training, recipe_of(run).batch_size)
    if arguments.figure is not None:
        if not any(curve.training or curve.evaluations for curve in curves):
            raise UsageError("there are no curves to draw yet: no run has a line of metrics")
        with waiting("drawing"):
            draw_comparison(arguments.figure, curves, arguments.over)
    if arguments.json:
        print(json.dumps({"runs": rows, "differences": _differences(runs)}))
        return 0
    _show(rows, console)
    if arguments.figure is not None:
        say(console, f"Figure: {arguments.figure}")
    return 0


def _check(arguments: Arguments) -> None:
    """Refuse before anything is read."""
    if not arguments.runs:
        raise UsageError("no run was given: mttt compare RUN RUN …; mttt runs lists them")
    if arguments.figure is not None:
        check_file(arguments.figure)
        if arguments.figure.suffix.lower() not in _FIGURES:
            raise UsageError(f"{arguments.figure}: the figure is a PNG or an SVG file; name it so")
        if not can_draw():
            raise UsageError("--figure needs matplotlib: pip install matplotlib")


def _row(run: Run) -> dict[str, Any]:
    newest: Record = run.result or next(reversed(run.metrics.read("evaluation")), {})
    row = row_of(run.path)
    if "error" in row:
        raise UsageError(f"{run.path} cannot be compared: {row['error']}")
    return row | {"loss": newest.get("loss")}


def _named(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With names that are short and different."""
    for row, name in zip(rows, short_names([Path(row["run"]) for row in rows]), strict=True):
        row["name"] = name
    return rows


def _curves(run: Run, name: str) -> Curves:
    text = isinstance(recipe_of(run).data, TextData)
    return Curves(one_line(name), text, run.metrics.read("train"), run.metrics.read("evaluation"))


def _speed(training: list[Record], batch_size: int) -> dict[str, float | None]:
    """Examples a second in training steps, and how long all steps take at that speed. Compiling is not in it."""
    examples = seconds = 0.0
    before = 0
    for record in training:
        if (speed := record["examples_per_second"]) is not None:
            part = (record["step"] - before) * batch_size
            examples, seconds = examples + part, seconds + part / speed
        before = record["step"]
    if not seconds:
        return {"examples_per_second": None, "training_seconds": None}
    speed = examples / seconds
    return {"examples_per_second": round(speed, 1), "training_seconds": round(before * batch_size / speed, 1)}


def _differences(runs: list[Run]) -> list[dict[str, Any]]:
    """Fields that are not the same in all recipes, with the value in each run."""
    recipes = [encode(recipe_of(run)) for run in runs]
    paths = sorted({one.path for recipe in recipes[1:] for one in differences(recipes[0], recipe)})
    # A part that some recipe does not have differs as a whole.
    paths = [path for path in paths if not any(path.startswith(f"{other}.") for other in paths)]
    return [{"path": path, "values": [_at(recipe, path) for recipe in recipes]} for path in paths]


def _at(part: Any, path: str) -> Any:
    for name in path.split("."):
        part = part.get(name) if isinstance(part, dict) else None
    return part


def _show(rows: list[dict[str, Any]], console: Console) -> None:
    """What all recipes have in common is said once, above the table."""
    said = [words_in(row) for row in rows]
    common = [word for word in said[0] if all(word in words for words in said)] if len(rows) > 1 else []
    if common:
        say(console, one_line(f"All: {short_numbers(' '.join(common))}"))
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("run", overflow="fold", min_width=10)
    table.add_column("recipe", overflow="fold", min_width=8)
    for name in ("epochs", "loss", "result", "/s", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for row, words in zip(rows, said, strict=True):
        own = short_numbers(" ".join(word for word in words if word not in common)) or "–"
        state = "now, " if row["training"] else ""
        speed, seconds = row["examples_per_second"], row["training_seconds"]
        table.add_row(
            escape(one_line(row["name"])),
            escape(one_line(own)),
            state + progress_of(row),
            "" if row["loss"] is None else f"{row['loss']:.3f}",
            _result(row),
            "" if speed is None else f"{speed:.0f}",
            "" if seconds is None else duration(seconds),
        )
    console.print(table)
    say(console, "Loss, result: last evaluation. /s: examples in training. time: its steps alone.")


def _result(row: dict[str, Any]) -> str:
    if row["bits_per_byte"] is not None:
        return f"{row['bits_per_byte']:.3f} bits"  # a byte
    return "" if row["accuracy"] is None else f"{row['accuracy']:.1%}"
