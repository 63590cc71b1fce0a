"""Tar files that may be compressed, read from front to back. A few bytes can unpack to more than any memory."""

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mttt.data.errors import UNREADABLE, BadData, cannot_read
from mttt.data.pictures.headers import Member, is_packed, read_headers
from mttt.files import regular

LIMIT = 2**28  # bytes of a compressed archive, unpacked: CIFAR has 184 million


class Bounded(io.RawIOBase):
    """What is unpacked, up to a limit."""

    def __init__(self, file: Any, name: str):
        self.file, self.name = file, name

    def seek(self, offset: int, whence: int = 0, /) -> int:
        if offset > LIMIT:
            raise BadData(f"{self.name} unpacks to more than {LIMIT:,} bytes, which no CIFAR archive does")
        return self.file.seek(offset)

    def read(self, size: int = -1, /) -> bytes:
        return self.file.read(size)


def read_archive(path: Path, wanted: dict[str, int]) -> dict[str, bytes]:
    """The files of these names, in any folder of an archive, compressed or not; each has at most so many bytes."""
    files = {}
    for file, member in _members(path):
        name = PurePosixPath(member.name).name
        if name in wanted:
            if member.size > wanted[name]:
                raise BadData(f"{name} in {path} has {member.size:,} bytes; expected at most {wanted[name]:,}")
            try:
                file.seek(member.offset)
                files[name] = file.read(member.size)
            except UNREADABLE as error:
                raise cannot_read(path, error) from error
    return files


def first_names(path: Path) -> Iterator[str]:
    """The names of the files in an archive, compressed or not; one at a time, as unpacking may take seconds."""
    return (PurePosixPath(member.name).name for _, member in _members(path))


def _members(path: Path) -> Iterator[tuple[Any, Member]]:
    """The files in an archive, with the stream to read the one that comes from."""
    openers = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open, b"BZ": bz2.open}
    try:
        with regular(path) as stored:
            head, size = stored.read(6), os.fstat(stored.fileno()).st_size
            file, end = stored, size
            if is_packed(head):
                stored.seek(0)
                file, end = Bounded(openers[head[:2]](stored), str(path)), 2**62
            for member in read_headers(file, path.name, 0, end):
                if isinstance(member, Member):
                    yield file, member
    except UNREADABLE as error:
        raise cannot_read(path, error) from error
