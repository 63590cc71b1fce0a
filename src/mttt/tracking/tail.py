"""Reading a file of records while it grows."""

import json
import os
from io import BufferedReader
from pathlib import Path

from mttt.files import regular
from mttt.tracking.tracker import Record


class Rewound(Exception):
    """The file was replaced: lines that were read may be void, and reading begins anew."""


class Tail:
    """The records that were not read yet. A line without its end is not read yet, either."""

    def __init__(self, path: Path):
        self._path = path
        self._file: BufferedReader | None = None

    def new(self) -> list[Record]:
        """What came since the last call. A `Rewound` if a resumed training has written the file anew."""
        if self._file is None:
            try:
                self._file = regular(self._path)
            except FileNotFoundError:
                return []
        elif self._replaced(self._file):
            self.close()
            raise Rewound
        place = self._file.tell()
        whole, end, _ = self._file.read().rpartition(b"\n")
        self._file.seek(place + len(whole) + len(end))
        return [json.loads(line) for line in whole.split(b"\n") if line]

    def _replaced(self, file: BufferedReader) -> bool:
        """Whether another file has the name by now. As this one is open, the other has another number."""
        ours = os.fstat(file.fileno())
        try:
            return ours.st_size < file.tell() or not os.path.samestat(ours, self._path.stat())
        except FileNotFoundError:  # the run is gone, and no more will come
            return False

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
