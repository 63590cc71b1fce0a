"""Images inside tar files, read where they are."""

import io
import os
import time
from pathlib import Path

import numpy as np
from jaxtyping import Int32, Int64

from mttt.data.errors import cannot_read
from mttt.data.names import Names, printable
from mttt.data.pictures.encoded import Encoded
from mttt.data.pictures.headers import Member, Strange, read_headers
from mttt.data.pictures.index import Index, index_file, load_index, save_index
from mttt.data.pictures.picture import FILE_LIMIT
from mttt.data.splits import name_of
from mttt.files import regular

_SLOW = 2.0  # seconds; an index that took longer is kept


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
        size = int(self._sizes[index])
        if size > FILE_LIMIT:
            raise OSError(f"it has {size:,} bytes; at most {FILE_LIMIT:,} are read")
        with regular(self.files[self.owners[index]]) as file:
            file.seek(int(self.offsets[index]))
            data = file.read(size)
        if len(data) < size:
            raise OSError("the tar file has become shorter")
        return data

    def name(self, index: int) -> str:
        return f"{name_of(self.files[self.owners[index]])} {printable(self.names[index])}"

    def sizes(self) -> Int64[np.ndarray, " n"]:
        return self._sizes


def list_members(path: Path, *, nested: bool = False) -> Index:
    """The files in a tar file; `nested`: the files in the tar files in it, by "outer/inner".

    Only headers are read. Where that takes long, as with ImageNet's million, the list is kept in the user's cache, by
    the file's path, size and time.
    """
    kept = index_file(path, nested)
    if kept is not None and (index := load_index(kept)) is not None:
        return index
    began = time.monotonic()
    index = Index([], [])
    try:
        with regular(path).detach() as file:
            whole_file = Member("", 0, os.fstat(file.fileno()).st_size)
            for outer in _listed(file, whole_file, path.name, "", index):
                if nested:
                    where = f"{printable(outer.name)} in {path.name}"
                    index.members.extend(_listed(file, outer, where, f"{outer.name}/", index))
                else:
                    index.members.append(outer)
    except OSError as error:
        raise cannot_read(path, error) from error
    if kept is not None and time.monotonic() - began > _SLOW:
        save_index(kept, index)
    return index


def _listed(file: io.RawIOBase, tar: Member, where: str, prefix: str, index: Index) -> list[Member]:
    """Files of the tar file that lies there; what else is in it is noted."""
    members = []
    for entry in read_headers(file, where, tar.offset, tar.size):
        if isinstance(entry, Strange):
            index.ignored.append(f"{where} {entry.name} ({entry.kind})")
        else:
            members.append(entry._replace(name=prefix + entry.name))
    return members
