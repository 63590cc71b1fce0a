"""Nothing outside of a case's directory is written: Python is asked before it does, files are looked at afterwards."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

WROTE_OUTSIDE = 97
"""exit code of a process that was about to write elsewhere"""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events with the number of paths in them, and where the directories that these are relative to are.
_CHANGING = {
    "os.chmod": (1, (2,)),
    "os.chown": (1, (3,)),
    "os.link": (2, (2, 3)),
    "os.mkdir": (1, (2,)),
    "os.remove": (1, (1,)),
    "os.rename": (2, (2, 3)),
    "os.rmdir": (1, (1,)),
    "os.truncate": (1, ()),
    "os.utime": (1, (3,)),
}


def watch(inside: tuple[Path, ...]) -> None:
    """From now on this process ends where Python is about to write a file that is not in one of these directories."""
    roots = [os.path.realpath(root) for root in inside]

    def allowed(event: str, path: str) -> bool:
        device = event == "open" and path.startswith("/dev/")
        return device or any(path == root or path.startswith(root + os.sep) for root in roots)

    def hook(event: str, arguments: tuple) -> None:
        for path in _written(event, arguments):
            if not allowed(event, path):
                os.write(2, f"{event} outside: {path}\n".encode(errors="backslashreplace"))
                os._exit(WROTE_OUTSIDE)

    sys.addaudithook(hook)


def _written(event: str, arguments: tuple) -> Iterator[str]:
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str | bytes) and isinstance(flags, int) and flags & _WRITING:
            yield os.path.realpath(os.fsdecode(path))
    elif event == "os.symlink":
        yield _place(arguments[1], arguments[2])
    elif event in _CHANGING:
        count, folders = _CHANGING[event]
        for number in range(count):
            folder = arguments[folders[number]] if number < len(folders) else -1
            if isinstance(arguments[number], str | bytes):
                yield _place(arguments[number], folder)


def _place(path: str | bytes, folder: object) -> str:
    """The path itself, not what it links to."""
    whole = os.fsdecode(path)
    if isinstance(folder, int) and folder >= 0:
        whole = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), whole)
    parent, name = os.path.split(os.path.abspath(whole))
    return os.path.join(os.path.realpath(parent), name)


def fingerprint(root: Path, without: tuple[Path, ...]) -> dict[str, tuple]:
    """What is there, and when it was changed."""
    found = {}
    for folder, names, files in os.walk(root):
        here = Path(folder)
        names[:] = [name for name in names if here / name not in without]
        for path in [here, *(here / name for name in files)]:
            status = path.lstat()
            found[str(path)] = (stat.S_IFMT(status.st_mode), status.st_ino, status.st_size, status.st_mtime_ns)
    return found
