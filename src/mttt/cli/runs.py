"""mttt runs"""

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mttt.cli.arguments import UsageError
from mttt.cli.opening import program
from mttt.cli.parsing import JSON_PRINTS, parsed
from mttt.cli.say import one_line, say
from mttt.cli.waiting import waiting
from mttt.fields import differences
from mttt.recipes import PRESETS, encode, nearest_preset, recipe_of, words_of
from mttt.runs import Run, RunError, find_runs, origin, summary


@dataclass(frozen=True)
class Arguments:
    """List runs: what differs from the nearest preset, progress, accuracy or bits per byte.

    Examples:
        mttt runs                 # those in runs/
        mttt runs studies --json  # those of another directory, for programs
    """

    directory: tyro.conf.Positional[Path] = Path("runs")
    """where to look, in its folders, too"""
    json: bool = False
    """print JSON, with all differences as path, the preset's value and the run's"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = parsed(Arguments, words, prog="mttt runs")
    directory = arguments.directory
    if not directory.is_dir() and (directory.exists() or directory != Arguments.directory):
        what = "is not a directory" if directory.exists() else "does not exist"
        hint = f". {JSON_PRINTS}" if arguments.json else ""
        raise UsageError(f"{directory} {what}{hint}")
    with waiting("reading the runs"):
        rows = [row_of(path) for path in find_runs(directory)] if directory.is_dir() else []
    if arguments.json:
        print(json.dumps(rows))
    elif not rows:
        say(console, f"There are no runs in {directory}. Make one: {program()} train digits")
    else:
        console.print(_table(rows, directory))
    return 0


def row_of(path: Path) -> dict[str, Any]:
    """What a run's files say; of one that cannot be read, why."""
    try:
        run = Run.open(path)
        recipe, found, began = recipe_of(run), summary(run), origin(run)
        steps = recipe.plan(run.data["train"]["examples"]).steps
    except (RunError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        return {"run": str(path), "error": str(error) or type(error).__name__}
    preset = nearest_preset(recipe)
    base = PRESETS[preset].recipe
    changed = differences(encode(base), encode(recipe))
    return {
        "run": str(path),
        "preset": preset,
        "differs": words_of(base, recipe),
        "differences": [{"path": one.path, "preset": one.old, "run": one.new} for one in changed],
        "from": began,
        "step": found.step,
        "steps": steps,
        "epoch": found.epoch,
        "epochs": recipe.epochs,
        "finished": found.result_step == steps,
        "training": found.in_use,
        "accuracy": found.accuracy,
        "bits_per_byte": found.bits_per_byte,
        "changed": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(found.changed)),
    }


def _table(rows: list[dict[str, Any]], directory: Path) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("run", overflow="fold", min_width=10)
    table.add_column("recipe", overflow="fold", min_width=10)
    table.add_column("epochs", justify="right", no_wrap=True)
    table.add_column("result", justify="right", no_wrap=True)
    table.add_column("when", no_wrap=True)
    for row in rows:
        name = escape(one_line(str(Path(row["run"]).relative_to(directory))))
        if "error" in row:
            table.add_row(name, f"[red]{escape(one_line(row['error']))}[/red]")
            continue
        recipe = _recipe(row)
        state = "now" if row["training"] else row["changed"][:16].replace("T", " ")
        table.add_row(name, escape(one_line(recipe)), progress_of(row), _result(row), state)
    return table


def words_in(row: dict[str, Any]) -> list[str]:
    """The recipe of a run, in words: its preset, and what differs."""
    return [row["preset"], *row["differs"], *([] if row["from"] is None else [f"from {row['from']['run']}"])]


def _recipe(row: dict[str, Any]) -> str:
    """What a name of our own says already is not said twice."""
    words = words_in(row)
    if row["from"] is None and Path(row["run"]).name == "-".join(words):
        return "as named"
    return short_numbers(" ".join(words))


def short_numbers(text: str) -> str:
    """With three digits; --json has all of them."""
    return re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.3g}", text)


def _result(row: dict[str, Any]) -> str:
    """What is looked at first: of pictures the accuracy, of text the bits that a byte takes."""
    if row["bits_per_byte"] is not None:
        return f"{row['bits_per_byte']:.3f} bits/byte"
    return "" if row["accuracy"] is None else f"{row['accuracy']:.1%}"


def progress_of(row: dict[str, Any]) -> str:
    """Epochs that are done, and of how many."""
    if row["finished"]:
        return f"{row['epochs']:g} done"
    return f"{row['epoch']:.3g} of {row['epochs']:g}"
