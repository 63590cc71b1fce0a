"""Reading files that somebody else made. A pipe would be waited for, and a device may have no end."""

import os
import stat
from io import BufferedReader
from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotRegular(OSError):
    """Something that is there under a file's name, and is no file."""


class TooLarge(OSError):
    """A file that is larger than any that could be meant."""


def regular(path: Path) -> BufferedReader:
    """The file, opened for reading; a link to one is followed. What is no regular file is refused, never waited for."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == 6:  # ENXIO: a socket
            raise NotRegular(f"{path} is a socket, not a regular file") from error
        raise
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        raise NotRegular(f"{path} is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a regular file")
    return open(number, "rb")


def contents(path: Path, limit: int) -> bytes:
    """All bytes of a regular file of at most `limit` bytes."""
    with regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        read = b"" if size > limit else file.read(size + 1)  # a buffer of `limit` bytes would cost more than reading
        if len(read) > size:  # it grew, or does not know its size
            read += file.read(limit + 1 - len(read)) if len(read) <= limit else b""
        if max(size, len(read)) > limit:
            raise TooLarge(f"{path} has {max(size, len(read)):,} bytes; at most {limit:,} are read")
        return read
