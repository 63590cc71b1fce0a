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
from mttt.cli.data_text import has_text, is_text, show_text_inspection, text_at
from mttt.cli.say import one_line, say
from mttt.cli.subcommands import kinds_of, take_subcommand
from mttt.cli.waiting import waiting
from mttt.data import BadData
from mttt.data.pictures import find_data
from mttt.data.pictures.contact import contact_sheet
from mttt.data.pictures.inspect import Inspection, Progress as Tell, inspect
from mttt.data.pictures.sheet import sheet_file, write_sheet
from mttt.data.pictures.splits import Found
from mttt.data.plural import counted
from mttt.data.text import inspect_text
from mttt.data.text.find import EXTENSIONS as TEXTS
from mttt.files import write_json

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
_CLASSES, _LINES = 20, 20  # more than this are not printed; --json has them all


@dataclass(frozen=True)
class Inspect:
    """Look at a data set: classes, counts, sizes, problems, and a sheet of pictures; of a text its alphabet.

    Examples:
        mttt data inspect digits
        mttt data inspect pictures/ --check all --json report.json
    """

    path: tyro.conf.Positional[Path]
    """folder, file or archive; or digits, shakespeare, or fashion-mnist where Debian's package is installed"""
    check: int | Literal["all"] = 2000
    """how many images to decode, evenly spread; all of them may take long"""
    json: Path | None = None
    """write everything found to this file"""
    figure: Path | None = None
    """write the sheet of pictures to this file, over what is there; by default contact-sheet-NAME.png, by the data"""


ABOUT = "Look at data before training on them."
KINDS = kinds_of({"inspect": Inspect})


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code: 1 if nothing could be trained on these data."""
    _, arguments = take_subcommand("data", ABOUT, KINDS, words)
    return _inspect(arguments, console)


def _inspect(arguments: Inspect, console: Console) -> int:
    _check(arguments)
    with refusing(), waiting("reading"):
        found = None if is_text(arguments.path) else _find_pictures(arguments.path)
    if found is None:
        return _inspect_text(arguments, console)
    check = None if arguments.check == "all" else arguments.check
    with _progress(console) as progress:
        seen = inspect(found, str(arguments.path), check=check, progress=progress)
    _print(seen, console)
    if seen.images:
        _draw(arguments, found, console)
    if arguments.json is not None:
        write_json(arguments.json, seen.json())
        say(console, one_line(f"Report: {arguments.json}"))
    return 1 if seen.problems else 0


def _find_pictures(path: Path) -> Found:
    try:
        return find_data(path)
    except BadData as error:
        if not path.is_dir() or has_text(path):
            raise
        raise BadData(f"{error}; and no text: no file ends with {', '.join(TEXTS)}") from error


def _inspect_text(arguments: Inspect, console: Console) -> int:
    if arguments.figure is not None:
        raise UsageError(f"--figure {arguments.figure}: {arguments.path} is text, and has no sheet of pictures")
    with refusing(), waiting("reading"):
        seen = inspect_text(text_at(arguments.path))
    show_text_inspection(seen, console)
    if arguments.json is not None:
        write_json(arguments.json, seen.json())
        say(console, one_line(f"Report: {arguments.json}"))
    return 0


def _check(arguments: Inspect) -> None:
    """Refuse before anything is read."""
    if arguments.check != "all" and arguments.check < 1:
        raise UsageError(f"--check {arguments.check}: must be at least 1, or all")
    for path in (arguments.json, arguments.figure):
        if path is not None:
            check_file(path)
    if arguments.figure is not None and arguments.figure.suffix.lower() != ".png":
        raise UsageError(f"{arguments.figure}: the sheet is a PNG file; name it so")


def _draw(arguments: Inspect, found: Found, console: Console) -> None:
    path = arguments.figure or sheet_file(arguments.path, Path())
    if not os.access(path.parent, os.W_OK):
        return say(console, "No contact sheet: this directory cannot be written to; name a file with --figure")
    with waiting("drawing the contact sheet"):
        write_sheet(contact_sheet(found, str(arguments.path)), path, arguments.path)
    return say(console, one_line(f"Contact sheet: {path}"))


@contextmanager
def _progress(console: Console) -> Iterator[Tell]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting")
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


def _print(seen: Inspection, console: Console) -> None:
    shape = "" if seen.native_shape is None else f", all {'×'.join(map(str, seen.native_shape))}"
    classes, images = counted(len(seen.classes), "class", "classes"), counted(seen.images, "image")
    say(console, one_line(f"{seen.where}: {NAMES[seen.kind]}, {classes}, {images}{shape}"))
    console.print()
    console.print(_classes(seen))
    console.print()
    some = f"Checked {seen.checked} of {images}, evenly spread (--check all checks all)"
    say(console, "Checked all images" if seen.checked == seen.images else some)
    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    for name, value in _facts(seen):
        table.add_row(name, escape(one_line(value)))
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
            table.add_row(escape(one_line(seen.classes[label])), *(f"{column[label]:,}" for column in columns))

    if len(seen.classes) <= _CLASSES:
        add(list(range(len(seen.classes))))
    else:
        order = np.argsort(-np.array(columns[0]), kind="stable").tolist()
        add(order[:5])
        table.add_row(f"… {len(order) - 10} more", *("…" for _ in columns))
        add(order[-5:])
    table.add_row("total", *(f"{sum(column):,}" for column in columns), style="bold")
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
        yield "EXIF", f"{counted(seen.rotated, 'image')} stored turned (used upright)"


def _findings(seen: Inspection, console: Console) -> None:
    searched = seen.duplicates
    twice = (
        "training and evaluation images with the same bytes" if len(seen.counts) > 1 else "images with the same bytes"
    )
    sections = [
        ("Problems that prevent training", seen.problems),
        ("Images that cannot be decoded", [f"{finding.name}: {finding.reason}" for finding in seen.bad]),
        ("Images that can be used, with a warning", [f"{finding.name}: {finding.reason}" for finding in seen.odd]),
        (
            f"Pairs of {twice}",
            [
                f"{pair.one} = {pair.other}" + ("" if pair.same_class else ", in another class")
                for pair in searched.pairs
            ],
        ),
        ("Notes", seen.notes),
        ("Files that are not read", seen.ignored),
    ]
    for title, lines in sections:
        if not lines:
            continue
        console.print(f"\n{title}: {len(lines)}", style="bold", highlight=False, markup=False)
        for line in lines[:_LINES]:
            say(console, f"  {one_line(line)}")
        if len(lines) > _LINES:
            say(console, f"  … and {len(lines) - _LINES} more; --json FILE has them all")
    console.print()
    if not any(lines for _, lines in sections[:4]):
        say(
            console,
            "No problems found." if seen.checked == seen.images else "No problems found in what was checked.",
        )
    if searched.searched == 0:
        say(console, "Duplicates were not looked for; --check all looks for them.")
    elif searched.searched < searched.of:
        say(console, f"Duplicates were looked for among {searched.searched} of {counted(searched.of, 'image')}.")
