"""mttt data"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import tyro
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from mttt.cli.arguments import UsageError, check_file, refusing
from mttt.cli.subcommands import take_subcommand
from mttt.data.pictures import find_data
from mttt.data.pictures.contact import contact_sheet
from mttt.data.pictures.inspect import Inspection, Progress as Say, inspect
from mttt.data.pictures.splits import Found
from mttt.files import whole, write_json

NAMES = {
    "folder": "class folders",
    "idx": "IDX files",
    "cifar10": "CIFAR-10, binary version",
    "cifar100": "CIFAR-100, binary version",
    "parquet": "parquet files",
    "tar": "ImageNet's archives",
    "webdataset": "WebDataset shards",
    "digits": "the digits that ship with mttt",
}
SHEET = Path("contact-sheet.png")
_CLASSES, _LINES = 20, 20  # more than this are not printed; --json has them all


@dataclass(frozen=True)
class Inspect:
    """Look at a data set: what it is, classes, counts, sizes, problems; and draw a sheet with some of its pictures."""

    path: tyro.conf.Positional[Path]
    """folder, file or archive; or digits, or fashion-mnist where Debian's package has put it"""
    check: int | Literal["all"] = 2000
    """how many images to decode, evenly spread; all of them may take long"""
    json: Path | None = None
    """write everything found to this file"""
    figure: Path | None = None
    """write the sheet of pictures to this file, over what is there; contact-sheet.png unless told, if there is none"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    kinds = {"inspect": (Inspect, Inspect.__doc__ or "")}
    _, arguments = take_subcommand("data", "Look at data before training on them.", kinds, words)
    return _inspect(arguments, console)


def _inspect(arguments: Inspect, console: Console) -> int:
    _check(arguments)
    with refusing(), console.status("reading"):
        found = find_data(arguments.path)
    check = None if arguments.check == "all" else arguments.check
    with _progress(console) as say:
        seen = inspect(found, str(arguments.path), check=check, progress=say)
    _print(seen, console)
    _draw(arguments, found, console)
    if arguments.json is not None:
        write_json(arguments.json, seen.json())
        _say(console, f"Everything found: {arguments.json}")
    return 0


def _check(arguments: Inspect) -> None:
    """Refuse before anything is read."""
    if arguments.check != "all" and arguments.check < 1:
        raise UsageError(f"check={arguments.check}: must be at least 1, or all")
    for path in (arguments.json, arguments.figure):
        if path is not None:
            check_file(path)
    if arguments.figure is not None and arguments.figure.suffix.lower() != ".png":
        raise UsageError(f"{arguments.figure}: the sheet is a PNG file; name it so")


def _draw(arguments: Inspect, found: Found, console: Console) -> None:
    path = arguments.figure or SHEET
    if arguments.figure is None and path.exists():
        return _say(console, f"No sheet of pictures: {path} exists already; name a file with --figure")
    if not os.access(path.parent, os.W_OK):
        return _say(console, "No sheet of pictures: this directory cannot be written to; name a file with --figure")
    with whole(path) as beside:
        contact_sheet(found, str(arguments.path)).save(beside, format="PNG")
    return _say(console, f"Pictures: {path}")


@contextmanager
def _progress(console: Console) -> Iterator[Say]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting")
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


def _say(console: Console, words: str) -> None:
    console.print(words, highlight=False, soft_wrap=True, markup=False)


def _print(seen: Inspection, console: Console) -> None:
    shape = "" if seen.native_shape is None else f", all {'×'.join(map(str, seen.native_shape))}"
    _say(console, f"{seen.where}: {NAMES[seen.kind]}, {len(seen.classes)} classes, {seen.images} images{shape}\n")
    console.print(_classes(seen))
    left_out = seen.images - seen.checked
    console.print()
    _say(
        console,
        "Checked all images"
        if not left_out
        else f"Checked {seen.checked} of {seen.images} images, evenly spread (--check all checks all)",
    )
    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    for name, value in _facts(seen):
        table.add_row(name, escape(value))
    console.print(table)
    _findings(seen, console)


def _classes(seen: Inspection) -> Table:
    """Images of each class; of many classes only the largest and the smallest."""
    table = Table(box=None, padding=(0, 2, 0, 2))
    table.add_column("class")
    for part in seen.counts:
        table.add_column(part, justify="right")
    columns = list(seen.counts.values())

    def add(labels: list[int]) -> None:
        for label in labels:
            table.add_row(escape(seen.classes[label]), *(f"{column[label]:,}" for column in columns))

    if len(seen.classes) <= _CLASSES:
        add(list(range(len(seen.classes))))
    else:
        order = np.argsort(-np.array(columns[0]), kind="stable").tolist()
        add(order[:5])
        table.add_row(f"… {len(order) - 10} more", *("…" for _ in columns))
        add(order[-5:])
    table.add_row("together", *(f"{sum(column):,}" for column in columns), style="bold")
    return table


def _facts(seen: Inspection) -> Iterator[tuple[str, str]]:
    for name, numbers in (("width", seen.width), ("height", seen.height)):
        if numbers is not None and seen.native_shape is None:
            yield name, f"{numbers.min} to {numbers.max}, median {numbers.median}"
    for name, finding in (("smallest", seen.smallest), ("largest", seen.largest)):
        if finding is not None and seen.native_shape is None:
            yield name, f"{finding.reason} ({finding.name})"
    yield "mode", ", ".join(f"{name} {number}" for name, number in seen.modes.items())
    yield "format", ", ".join(f"{name} {number}" for name, number in seen.formats.items())
    if seen.rotated:
        yield "EXIF", f"{seen.rotated} stored turned (they are used upright)"


def _findings(seen: Inspection, console: Console) -> None:
    searched = seen.duplicates
    twice = (
        "training and evaluation images with the same bytes" if len(seen.counts) > 1 else "images with the same bytes"
    )
    sections = [
        ("Stands in the way of training", seen.problems),
        ("Cannot be decoded", [f"{finding.name}: {finding.reason}" for finding in seen.bad]),
        ("Can be used, but is odd", [f"{finding.name}: {finding.reason}" for finding in seen.odd]),
        (
            f"Pairs of {twice}",
            [
                f"{pair.one} = {pair.other}" + ("" if pair.same_class else ", in another class")
                for pair in searched.pairs
            ],
        ),
        ("Worth knowing", seen.notes),
        ("Not read", seen.ignored),
    ]
    for title, lines in sections:
        if not lines:
            continue
        console.print(f"\n{title}: {len(lines)}", style="bold", highlight=False, markup=False)
        for line in lines[:_LINES]:
            _say(console, f"  {line}")
        if len(lines) > _LINES:
            _say(console, f"  … and {len(lines) - _LINES} more; --json FILE has them all")
    console.print()
    if not any(lines for _, lines in sections[:4]):
        _say(
            console,
            "No problems found." if seen.checked == seen.images else "No problems found in what was checked.",
        )
    if searched.searched == 0:
        _say(console, "Duplicates were not looked for: --check all does that.")
    elif searched.searched < searched.of:
        _say(console, f"Duplicates were looked for of {searched.searched} of {searched.of} images.")
