"""A text: bytes end to end, of which any piece can be read."""

import hashlib
import os
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import UInt8

from mttt.data.errors import UNREADABLE, BadData, BadExample, cannot_read, why
from mttt.files import regular

_CHUNK = 2**20
_CONTROL = bytes(sorted({*range(1, 32), 127} - set(b"\t\n\v\f\r\x1b")))
_MOST_CONTROL = 0.1
"""part of a text that control codes may be; files of other things have more"""


@runtime_checkable
class Text(Protocol):
    """Bytes to learn from. It can be pickled for worker processes, and read by several threads."""

    def __len__(self) -> int:
        """How many bytes there are."""
        ...

    def __str__(self) -> str:
        """What to call it in messages."""
        ...

    @property
    def digest(self) -> str:
        """The same for the same bytes, and for no others."""
        ...

    def read(self, begin: int, end: int) -> UInt8[np.ndarray, " n"]:
        """The bytes from `begin` to before `end`, or BadExample if they cannot be read any more."""
        ...


class Letters:
    """A text in memory."""

    def __init__(self, text: bytes, name: str):
        self._bytes, self._name = text, name
        self.digest = hashlib.sha256(text).hexdigest()

    def __len__(self) -> int:
        return len(self._bytes)

    def __str__(self) -> str:
        return self._name

    def read(self, begin: int, end: int) -> UInt8[np.ndarray, " n"]:
        return np.frombuffer(self._bytes, np.uint8, end - begin, begin)


class TextFile(NamedTuple):
    """A file, and how many bytes it has."""

    path: Path
    size: int


class TextFiles:
    """The bytes of one or several files, one after the other. They stay on disk: a text may be larger than memory.

    All of them are read once, when this is made: for the digest, and to refuse what is no text.
    """

    def __init__(self, paths: list[Path], name: str):
        self._name, digest, files = name, hashlib.sha256(), []
        for path in paths:
            size = 0
            for chunk in _checked(path):
                digest.update(chunk)
                size += len(chunk)
            files.append(TextFile(path, size))
        self.digest = digest.hexdigest()
        self.files = tuple(files)
        self._ends = np.fromiter(accumulate(file.size for file in files), np.int64, len(files))

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __str__(self) -> str:
        return self._name

    def read(self, begin: int, end: int) -> UInt8[np.ndarray, " n"]:
        pieces = []
        for number in range(int(np.searchsorted(self._ends, begin, side="right")), len(self.files)):
            path, size = self.files[number]
            first = int(self._ends[number]) - size
            if first >= end:
                break
            pieces.append(_piece(path, max(begin - first, 0), min(end - first, size)))
        return np.frombuffer(b"".join(pieces), np.uint8)


def _piece(path: Path, begin: int, end: int) -> bytes:
    try:
        with regular(path) as file:
            found = os.pread(file.fileno(), end - begin, begin)
    except UNREADABLE as error:
        raise BadExample(str(path), why(path, error)) from error
    if len(found) < end - begin:
        raise BadExample(str(path), "is shorter than it was")
    return found


def _checked(path: Path) -> Iterator[bytes]:
    """The bytes of a file that is text, in any encoding that has no NUL bytes."""
    size = control = 0
    try:
        with regular(path) as file:
            while chunk := file.read(_CHUNK):
                if (place := chunk.find(b"\0")) >= 0:
                    raise BadData(
                        f"{path} is not text: byte {size + place:,} is 0. Text is bytes without zeros, such as UTF-8; "
                        "UTF-16 has to be converted"
                    )
                size += len(chunk)
                control += len(chunk) - len(chunk.translate(None, _CONTROL))
                yield chunk
    except UNREADABLE as error:
        raise cannot_read(path, error) from error
    if control > _MOST_CONTROL * size:
        raise BadData(f"{path} is not text: {control / size:.0%} of its bytes are control codes")
