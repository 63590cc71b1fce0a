"""Lists of what is in tar files, kept in the user's cache: reading a million headers takes minutes."""

import hashlib
import io
import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mttt.data.pictures.headers import Member
from mttt.files import contents, whole

_LIMIT = 2**31  # bytes
_DIGEST = 32  # bytes, before everything else: a damaged list is made anew


class Index(NamedTuple):
    """The files in a tar file, and what is there and cannot be used."""

    members: list[Member]
    ignored: list[str]


def index_file(path: Path, nested: bool) -> Path | None:
    """Where the list of this very file would be kept, or None where there is no cache."""
    try:
        status = path.stat()
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    key = f"2 {path.resolve()} {status.st_size} {status.st_mtime_ns} {nested}"
    return cache / "mttt" / "tar" / f"{hashlib.sha256(key.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.npz"


def load_index(kept: Path) -> Index | None:
    """The list, if it is there and as it was written."""
    try:
        data = contents(kept, _LIMIT)
        if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
            return None
        with np.load(io.BytesIO(data[_DIGEST:]), allow_pickle=False) as arrays:
            offsets, sizes = arrays["offsets"].tolist(), arrays["sizes"].tolist()
            members = zip(_split(arrays["names"]), offsets, sizes, strict=True)
            return Index([Member(*member) for member in members], _split(arrays["ignored"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # not there, or of another version
        return None


def save_index(kept: Path, index: Index) -> None:
    """Keep the list, if that can be done."""
    packed = io.BytesIO()
    np.savez(
        packed,
        names=_joined([member.name for member in index.members]),
        ignored=_joined(index.ignored),
        offsets=np.array([member.offset for member in index.members], np.int64),
        sizes=np.array([member.size for member in index.members], np.int64),
    )
    data = packed.getvalue()
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with whole(kept) as place:
            place.write_bytes(hashlib.sha256(data).digest() + data)
    except OSError:  # a cache that cannot be written is no reason to stop
        pass


def _joined(names: list[str]) -> np.ndarray:
    return np.frombuffer("".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape"), np.uint8)


def _split(letters: np.ndarray) -> list[str]:
    return bytes(letters).decode("utf-8", "surrogateescape").split("\0")[:-1]
