"""The directory of a run: what may be in it, and whose it is."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mttt.runs.errors import InUse, NotWritten, RunError

_DEPTH = 8
"""folders in folders; a checkpoint has four"""


def entries(folder: Path, depth: int = _DEPTH) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything in a folder and below it; links are not followed. What goes away meanwhile is left out."""
    waiting = [(folder, depth)]
    while waiting:
        here, left = waiting.pop()
        try:
            with os.scandir(here) as found:
                inside = [(Path(entry.path), entry.stat(follow_symlinks=False)) for entry in found]
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield from inside
        if left:
            waiting += [(path, left - 1) for path, status in inside if stat.S_ISDIR(status.st_mode)]


def refuse_links(path: Path) -> None:
    """A link in a run would have files written, emptied or deleted elsewhere. The run itself may be one."""
    for folder, depth in ((path, 0), (path / "checkpoints", _DEPTH), (path / "figures", 0)):
        for inside, status in entries(folder, depth):
            if stat.S_ISLNK(status.st_mode):
                raise RunError(f"{inside} is a symbolic link, and links in a run are not followed; put a copy there")


def open_plain(path: Path, flags: int, folder: int | None = None) -> int:
    """A regular file of a run, opened without following a link, waiting for a pipe or emptying what is there."""
    try:
        number = os.open(
            path.name if folder is not None else path,
            flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
            0o666,
            dir_fd=folder,
        )
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):  # a link, a pipe or socket, a directory
            raise RunError(f"{path} is not a regular file; move it away") from error
        raise
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise RunError(f"{path} is not a regular file; move it away")
    return number


class Hold:
    """The directory of a run while this process trains it. The lock goes with the process, however it ends."""

    def __init__(self, path: Path):
        self._path = path.absolute()
        self._directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._lock = open_plain(path / ".lock", os.O_RDWR, self._directory)
        except BaseException:
            os.close(self._directory)
            raise
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:
            self.close()
            if isinstance(error, BlockingIOError):
                raise InUse(f"{path} is being trained by another process") from error
            raise

    def check(self) -> None:
        """Refuse to write where another run may be by now. As both are held open, their numbers are not given anew."""
        try:
            same = os.path.samestat(os.fstat(self._directory), os.stat(self._path)) and os.path.samestat(
                os.fstat(self._lock), os.lstat(self._path / ".lock")
            )
        except (FileNotFoundError, NotADirectoryError):
            same = False
        if not same:
            raise NotWritten(
                f"{self._path} was deleted, moved or replaced while it was trained; nothing more is written. If it was "
                "moved, its newest checkpoint is whole: train the run where it is now"
            )

    def close(self) -> None:
        os.close(self._lock)
        os.close(self._directory)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Only one process is inside with this file; `InUse` in any other. The file stays, the lock does not."""
    number = open_plain(path, os.O_RDWR)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InUse(f"another process is at work on {path.name}") from error
        yield
    finally:
        os.close(number)
