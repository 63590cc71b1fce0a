"""Images inside tar files, read where they are."""

import hashlib
import io
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64

from mttt.data.errors import BadData, cannot_read
from mttt.data.names import Names, printable
from mttt.data.pictures.encoded import Encoded
from mttt.data.splits import name_of

_BLOCK = 512
_SLOW = 2.0  # seconds; an index that took longer is kept


class Member(NamedTuple):
    """A file in a tar file."""

    name: str
    offset: int
    size: int


class Members(Encoded):
    """Members of one or more tar files, by where their bytes are. A tar file is never unpacked."""

    def __init__(
        self,
        files: tuple[Path, ...],
        owners: Int32[np.ndarray, " n"],
        members: list[Member],
        labels: Int32[np.ndarray, " n"],
    ):
        self.files, self.owners, self.labels = files, owners, labels
        self.names = Names(member.name for member in members)
        self.offsets = np.array([member.offset for member in members], np.int64)
        self._sizes = np.array([member.size for member in members], np.int64)

    def read(self, index: int) -> bytes:
        # Opened anew each time: microseconds, and nothing to share between threads and processes.
        with self.files[self.owners[index]].open("rb", buffering=0) as file:
            file.seek(int(self.offsets[index]))
            data = file.read(int(self._sizes[index]))
        if len(data) < self._sizes[index]:
            raise OSError("the tar file has become shorter")
        return data

    def name(self, index: int) -> str:
        return f"{name_of(self.files[self.owners[index]])} {printable(self.names[index])}"

    def sizes(self) -> Int64[np.ndarray, " n"]:
        return self._sizes


def list_members(path: Path, *, nested: bool = False) -> list[Member]:
    """The files in a tar file; `nested`: the files in the tar files in it, by "outer/inner".

    Only headers are read. Where that takes long, as with ImageNet's million, the list is kept in the user's cache, by
    the file's path, size and time.
    """
    kept = _kept(path, nested)
    if kept is not None and (members := _load(kept)) is not None:
        return members
    began = time.monotonic()
    try:
        with path.open("rb", buffering=0) as file:
            members = list(_headers(file, path.name, 0, path.stat().st_size))
            if nested:
                members = [
                    Member(f"{outer.name}/{inner.name}", inner.offset, inner.size)
                    for outer in members
                    for inner in _headers(file, f"{outer.name} in {path.name}", outer.offset, outer.size)
                ]
    except OSError as error:
        raise cannot_read(path, error) from error
    if kept is not None and time.monotonic() - began > _SLOW:
        _save(kept, members)
    return members


class _Window(io.RawIOBase):
    """A part of a file as a file."""

    def __init__(self, file: io.FileIO, start: int, size: int):
        self.file, self.start, self.size, self.place = file, start, size, 0

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self.place = offset + (0, self.place, self.size)[whence]
        return self.place

    def tell(self) -> int:
        return self.place

    def read(self, size: int = -1, /) -> bytes:
        left = max(0, self.size - self.place)
        self.file.seek(self.start + self.place)
        data = self.file.read(left if size < 0 else min(size, left))
        self.place += len(data)
        return data


def _headers(file: io.FileIO, name: str, start: int, size: int) -> Iterator[Member]:
    """The regular files of the tar file that lies in `file` from `start`. BadData if it is cut off."""
    window = _Window(file, start, size)
    head = window.read(6)
    if head[:2] == b"\x1f\x8b" or head == b"\xfd7zXZ\x00" or head[:3] == b"BZh":
        raise BadData(f"{name} is compressed; images can be read out of tar files as they are only: unpack it once")
    window.seek(0)
    try:
        with tarfile.open(fileobj=window, mode="r:") as archive:
            while (member := archive.next()) is not None:
                archive.members.clear()  # pyright: ignore[reportAttributeAccessIssue] # it would keep them all
                if member.isreg():
                    yield Member(member.name, start + member.offset_data, member.size)
            end = archive.offset
    except tarfile.TarError as error:
        raise BadData(f"{name} is not a whole tar file: {error}") from error
    # tarfile takes a missing or broken header for the end. The end is a block of zeros.
    window.seek(end)
    if window.read(_BLOCK) != bytes(_BLOCK):
        raise BadData(f"{name} is not a whole tar file: it is cut off or broken at byte {end} of {size}")


def _kept(path: Path, nested: bool) -> Path | None:
    """Where the list of this very file would be kept, or None where there is no cache."""
    try:
        status = path.stat()
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    key = f"1 {path.resolve()} {status.st_size} {status.st_mtime_ns} {nested}"
    return cache / "mttt" / "tar" / f"{hashlib.sha256(key.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.npz"


def _load(kept: Path) -> list[Member] | None:
    try:
        with np.load(kept, allow_pickle=False) as arrays:
            names = bytes(arrays["names"]).decode("utf-8", "surrogateescape").split("\0")
            offsets, sizes = arrays["offsets"].tolist(), arrays["sizes"].tolist()
            return [Member(*member) for member in zip(names, offsets, sizes, strict=True)]
    except (OSError, ValueError, KeyError, EOFError):  # not there, or not whole: made anew
        return None


def _save(kept: Path, members: list[Member]) -> None:
    beside = kept.with_suffix(f".{os.getpid()}.tmp")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        letters = "\0".join(member.name for member in members).encode("utf-8", "surrogateescape")
        with beside.open("wb") as file:
            np.savez(
                file,
                names=np.frombuffer(letters, np.uint8),
                offsets=np.array([member.offset for member in members], np.int64),
                sizes=np.array([member.size for member in members], np.int64),
            )
        beside.replace(kept)
    except OSError:  # a cache that cannot be written is no reason to stop
        beside.unlink(missing_ok=True)
