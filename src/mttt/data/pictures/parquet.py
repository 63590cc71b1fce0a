"""Parquet shards with a column of encoded images and one of labels: the layout of the Hugging Face hub."""

import threading
from collections import OrderedDict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int32

from mttt.data.errors import BadData
from mttt.data.pictures.columns import Columns, broken, check_group, open_parquet, read_columns, read_labels
from mttt.data.pictures.encoded import Encoded
from mttt.data.pictures.labels import class_names, encode, one_class
from mttt.data.pictures.shards import find_shards
from mttt.data.pictures.splits import Found, Splits, make_splits
from mttt.data.splits import name_of

_GROUPS, _BYTES = 4, 2**28  # how many row groups are kept, and how much memory they may take together


class Groups(NamedTuple):
    """The row groups of all shards, one after the other."""

    file: Int32[np.ndarray, " g"]
    group: Int32[np.ndarray, " g"]  # number in its file
    start: np.ndarray  # its first row, counted over all files; one more at the end
    first: np.ndarray  # the first row of its file


class Parquet(Encoded):
    """Rows of parquet files by number.

    A parquet file is compressed by row groups, so a row costs reading the image column of its whole group, through a
    memory map. The last few groups are kept, in each process: reading in order reads everything once, and shuffled
    reading reads a group for nearly every image. Where groups are large (a hundred images and more), a shuffled run
    is bound by that; class folders or tar files do not have this cost.
    """

    def __init__(self, files: tuple[Path, ...], column: str, groups: Groups, labels: Int32[np.ndarray, " n"]):
        self.files, self.column, self.groups, self.labels = files, column, groups, labels
        self._open()

    def _open(self) -> None:
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_kept", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._open()

    def name(self, index: int) -> str:
        group = self._group(index)
        return f"{name_of(self.files[self.groups.file[group]])} row {index - int(self.groups.first[group])}"

    def read(self, index: int) -> bytes:
        group = self._group(index)
        with self._lock:
            column = self._kept[group] if group in self._kept else self._read_group(group)
            self._kept[group] = column
            self._kept.move_to_end(group)
            while len(self._kept) > _GROUPS or (
                len(self._kept) > 1 and sum(kept.nbytes for kept in self._kept.values()) > _BYTES
            ):
                self._kept.popitem(last=False)
        value = column[index - int(self.groups.start[group])].as_py()
        data = value["bytes"] if isinstance(value, dict) else value
        if data is None:
            raise OSError("this row has no image bytes")
        return data

    def _group(self, index: int) -> int:
        return int(np.searchsorted(self.groups.start, index, side="right")) - 1

    def _read_group(self, group: int) -> Any:
        number = int(self.groups.group[group])
        try:
            with open_parquet(self.files[self.groups.file[group]]) as file:
                check_group(file.metadata.row_group(number))
                return file.read_row_group(number, columns=[self.column], use_threads=False).column(0)
        except (*broken(), BadData) as error:
            raise OSError(f"row group {number} is broken: {str(error).splitlines()[0]}") from error


def load_parquet(
    path: Path,
    *,
    image_column: str | None = None,
    label_column: str | None = None,
    holdout: float = 0.1,
    seed: int = 0,
) -> Splits:
    """A folder of shards, train-00000-of-00005.parquet and validation-… or test-… (also in data/), or one file.

    Images are binary, or structs with `bytes`; labels are integers or strings. Columns are found by their names.
    """
    found = find_parquet(path, image_column=image_column, label_column=label_column)
    return make_splits(found, holdout=holdout, seed=seed)


def find_parquet(path: Path, *, image_column: str | None = None, label_column: str | None = None) -> Found:
    """What is in the shards."""
    if find_spec("pyarrow") is None:
        raise BadData(f"{path} is parquet, which needs pyarrow: pip install pyarrow")
    shards = find_shards(path, ".parquet")
    columns = read_columns(shards.train[0], image_column, label_column)
    read = {part: _read_labels(files, columns) for part, files in shards.parts.items()}
    try:
        labels, classes = encode({part: raw for part, (_, raw) in read.items()}, columns.classes)
    except BadData as error:
        raise BadData(f"{path}: {error}") from error
    problems = [*shards.problems, *one_class(path, classes)]
    sources = [Parquet(tuple(shards.parts[part]), columns.image, read[part][0], labels[part]) for part in shards.parts]
    return Found(
        "parquet",
        sources[0],
        sources[1] if len(sources) > 1 else None,
        shards.evaluation_name,
        class_names(path, classes),
        problems=tuple(problems),
        ignored=tuple(shards.ignored),
    )


def _read_labels(files: list[Path], columns: Columns) -> tuple[Groups, np.ndarray]:
    """Where rows are, and their labels; nothing of the images is read."""
    rows, numbers, owners, firsts, labels, total = [], [], [], [], [], 0
    for number, path in enumerate(files):
        sizes, values = read_labels(path, columns)
        rows += sizes
        numbers += range(len(sizes))
        owners += [number] * len(sizes)
        firsts += [total] * len(sizes)
        total += len(values)
        labels.append(values)
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    if total == 0:
        raise BadData(f"{files[0].parent} has parquet files without rows")
    groups = Groups(np.array(owners, np.int32), np.array(numbers, np.int32), starts, np.array(firsts, np.int64))
    return groups, np.concatenate(labels)
