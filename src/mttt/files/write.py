"""Writing a file so that it is whole or not there."""

import errno
import json
import os
import shutil
import stat
import tempfile
import zlib
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
        mode = path.lstat().st_mode
    except FileNotFoundError:
        mode = None
    with _beside(path, mode) if mode is None or stat.S_ISREG(mode) else _through(path) as place:
        yield place


def temporary(path: Path) -> Path:
    """A place beside a file, of this process. Its name is short: that of the file may leave no room."""
    return path.with_name(f".{zlib.crc32(os.fsencode(path.name)):08x}.{os.getpid()}.tmp")


@contextmanager
def _beside(path: Path, mode: int | None) -> Iterator[Path]:
    """`mode` is that of the file that is replaced; the new one gets its permissions, and none before that."""
    beside = temporary(path)
    beside.unlink(missing_ok=True)  # of a process that was killed, or a link that somebody put there
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
    try:
        yield beside
        with beside.open("rb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode & 0o777)
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
        try:
            target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise OSError(f"{path} is a pipe that nobody reads; start its reader first") from error
            raise
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
