"""What `mttt data inspect` says of a text."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mttt.cli.say import count, one_line, printable, say
from mttt.data import BadData
from mttt.data.pictures import detect
from mttt.data.pictures.encoded import EXTENSIONS as PICTURES
from mttt.data.text import FoundText, TextInspection, find_text, shakespeare
from mttt.data.text.find import EXTENSIONS, paths_in
from mttt.data.walk import files_below

_FILES, _LOOK = 10, 10_000
_PACKED = (".parquet", ".tar", ".tgz", ".txz", ".gz", ".bin", "-ubyte")


def is_text(path: Path) -> bool:
    """Whether what is there is text: several paths, a file that is nothing else, a folder of text without pictures."""
    if not path.exists():
        return str(path) == "shakespeare" or len(paths_in(str(path))) > 1
    if path.is_dir():
        return has_text(path) and not any(name.endswith((*PICTURES, *_PACKED)) for name in _names(path))
    if path.name.lower().endswith(EXTENSIONS):
        return True
    try:
        detect(path)
    except BadData:
        return not path.name.lower().endswith((*PICTURES, *_PACKED))
    return False


def has_text(folder: Path) -> bool:
    """Whether a file in this folder, or further below, is named like a text."""
    return any(name.endswith(EXTENSIONS) for name in _names(folder))


def _names(folder: Path) -> Iterator[str]:
    return (name.lower() for name in islice(files_below(folder, 64), _LOOK))


def text_at(path: Path) -> FoundText:
    """The text at a path. Where no such path is, shakespeare is a name."""
    if not path.exists() and str(path) == "shakespeare":
        return FoundText(shakespeare())
    return find_text(str(path))


def show_text_inspection(seen: TextInspection, console: Console) -> None:
    """Size, files, alphabet, a sample, and what would be held out."""
    files = f", {count(len(seen.files), 'file')}" if seen.files else ""
    say(console, one_line(f"{seen.where}: text, {count(seen.size, 'byte')}{files}"))
    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    frequent = [f"{name} {number / seen.size:.1%}" for name, number in list(seen.counts.items())[:8]]
    rows = {
        "encoding": seen.encoding,
        "lines": f"{seen.lines:,}",
        "alphabet": f"{count(len(seen.counts), 'different byte')}: {' '.join(sorted(seen.counts))}",
        "most frequent": ", ".join(frequent),
        "bits per byte": f"{seen.bits:.3f} by these frequencies alone; a model has to be below",
        "held out": f"the last {count(seen.held_out, 'byte')}, unless data.holdout says otherwise",
    }
    for name, value in rows.items():
        table.add_row(name, escape(one_line(value)))
    console.print(table)
    for title, sample in (("A sample", seen.sample), ("What is held out begins", seen.held_out_begins)):
        say(console, f"\n{title}:")
        say(console, "\n".join(f"  {line}" for line in printable(sample).splitlines()))
    for title, lines in (
        ("Files", [f"{file['path']}: {count(file['size'], 'byte')}" for file in seen.files]),
        ("Files that are not read", seen.ignored),
    ):
        if lines:
            say(console, f"\n{title}: {len(lines)}")
            say(console, "\n".join(f"  {one_line(line)}" for line in lines[:_FILES]))
            if len(lines) > _FILES:
                say(console, f"  … and {len(lines) - _FILES} more; --json FILE has them all")
