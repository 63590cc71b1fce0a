"""How far a run is, from its small files alone: nothing is compiled and no checkpoint is read."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mttt.files import regular
from mttt.runs.errors import RunError
from mttt.runs.metrics import Record, checked
from mttt.runs.run import Run

_TAIL = 2**16
"""bytes at the end of the metrics in which the newest records are looked for"""
_DEPTH = 4
"""levels below a directory at which runs are looked for: those of a study are at the third"""


class Summary(NamedTuple):
    """What a run says of its progress."""

    step: int
    """of its newest record"""
    epoch: float
    accuracy: float | None
    """of its result, or else of its newest evaluation"""
    bits_per_byte: float | None
    """the same, if it is trained on text"""
    result_step: int | None
    """the step of its result, if it has one"""
    in_use: bool
    """a process is training it"""
    changed: float
    """when it wrote its newest record or its result, in seconds since 1970"""


def find_runs(directory: Path) -> list[Path]:
    """The runs in a directory and in folders of it; links to folders are not followed."""
    return sorted(_find(directory, _DEPTH))


def _find(directory: Path, depth: int) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        folders = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    for folder in folders:
        if folder.name.startswith("."):  # a run that is being made
            continue
        if (folder / "recipe.json").exists():
            yield folder
        elif depth > 1 and os.access(folder, os.R_OK | os.X_OK):
            yield from _find(folder, depth - 1)


def summary(run: Run) -> Summary:
    """How far a run is."""
    records, result = _newest(run.metrics.path), run.result
    evaluations = [record for record in records if record.get("kind") == "evaluation"]
    last = records[-1] if records else {}
    judged: dict[str, Any] = result or (evaluations[-1] if evaluations else {})
    written = [path for name in ("recipe.json", "metrics.jsonl", "result.json") if (path := run.path / name).exists()]
    return Summary(
        step=last.get("step", 0),
        epoch=next((record["epoch"] for record in reversed(records) if "epoch" in record), 0.0),
        accuracy=judged.get("accuracy"),
        bits_per_byte=judged.get("bits_per_byte"),
        result_step=None if result is None else result["step"],
        in_use=in_use(run),
        changed=max(path.stat().st_mtime for path in written),
    )


def _newest(path: Path) -> list[Record]:
    """The newest whole records. A line that a kill cut off is not one."""
    try:
        with regular(path) as file:
            begin = max(0, os.fstat(file.fileno()).st_size - _TAIL)
            file.seek(begin)
            lines = file.read(_TAIL).split(b"\n")
    except FileNotFoundError:
        return []
    whole = lines[1 if begin else 0 : -1]
    try:
        return [checked(line) for line in whole]
    except ValueError as error:
        raise RunError(
            f"{path}: one of the last lines {error}; bring the file back from a copy, or take the line out "
            "if you can do without it"
        ) from error


def in_use(run: Run) -> bool:
    """Whether a process is training it and holds the lock. Asking takes it, shared, without waiting, for a moment."""
    try:
        with regular(run.path / ".lock") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False
