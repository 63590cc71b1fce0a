"""Writing a file so that it is whole or not there."""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A place to write to; it becomes `path` at the end: a reader, or a crash, never sees half a file.

    Where `path` is not a regular file (a link, a device, a pipe), it stays what it is and the contents go through it.
    """
    try:
        plain = stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        plain = True
    with _beside(path) if plain else _through(path) as place:
        yield place


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    beside.unlink(missing_ok=True)  # of a process that was killed, or a link that somebody put there
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)  # there only if something went wrong


@contextmanager
def _through(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "whole"
        yield place
        # A pipe that nobody reads is refused instead of waited for. Somebody who reads it may be slow.
        target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
        os.set_blocking(target, True)
        with place.open("rb") as source, open(target, "wb") as sink:
            shutil.copyfileobj(source, sink)


def write_text(path: Path, text: str) -> None:
    """A text file, whole."""
    with whole(path) as place:
        place.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """JSON for people and programs."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
