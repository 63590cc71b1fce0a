"""Parquet shards with a column of encoded images and one of labels: the layout of the Hugging Face hub."""

import json
import threading
from collections import OrderedDict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int32

from mttt.data.errors import BadData, cannot_read
from mttt.data.pictures.encoded import Encoded
from mttt.data.pictures.labels import encode
from mttt.data.pictures.shards import find_shards
from mttt.data.pictures.splits import Found, Splits, make_splits
from mttt.data.splits import name_of

IMAGE_COLUMNS = ("image", "img", "picture", "photo", "jpg", "jpeg", "png")
LABEL_COLUMNS = ("label", "fine_label", "labels", "class", "cls", "target", "category", "y")
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
            with _parquet_file(self.files[self.groups.file[group]]) as file:
                return file.read_row_group(number, columns=[self.column], use_threads=False).column(0)
        except (*_broken(), BadData) as error:
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
        raise BadData(f'{path} is parquet, which needs pyarrow: pip install "mttt[parquet]"')
    shards = find_shards(path, ".parquet")
    with _parquet_file(shards.train[0]) as file:
        schema = file.schema_arrow
    image, label = _columns(shards.train[0], schema, image_column, label_column)
    read = {part: _read_labels(files, image, label) for part, files in shards.parts.items()}
    try:
        labels, classes = encode({part: raw for part, (_, raw) in read.items()}, _class_names(schema, label))
    except BadData as error:
        raise BadData(f"{path}: {error}") from error
    problems = list(shards.problems)
    if len(classes) == 1:
        problems.append(f"{path} has only one class, {classes[0]}: nothing to tell apart")
    sources = [Parquet(tuple(shards.parts[part]), image, read[part][0], labels[part]) for part in shards.parts]
    return Found(
        "parquet",
        sources[0],
        sources[1] if len(sources) > 1 else None,
        shards.evaluation_name,
        classes,
        problems=tuple(problems),
        ignored=tuple(shards.ignored),
    )


def _broken() -> tuple[type[Exception], ...]:
    """What pyarrow raises where a file is not what it should be."""
    import pyarrow

    return pyarrow.ArrowException, OSError


def _parquet_file(path: Path) -> Any:
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path, memory_map=True)
    except pyarrow.ArrowException as error:
        raise BadData(f"{path} is not a whole parquet file: {str(error).splitlines()[0]}") from error
    except OSError as error:
        raise cannot_read(path, error) from error


def _columns(path: Path, schema: Any, image: str | None, label: str | None) -> tuple[str, str]:
    """The path of the column with image bytes, and the name of the column with labels."""
    from pyarrow import types

    def holds_bytes(kind: Any) -> bool:
        return types.is_binary(kind) or types.is_large_binary(kind)

    images, labels = {}, {}
    for field in schema:
        kind = field.type
        if types.is_struct(kind) and kind.get_field_index("bytes") >= 0 and holds_bytes(kind.field("bytes").type):
            images[field.name] = f"{field.name}.bytes"
        elif holds_bytes(kind):
            images[field.name] = field.name
        elif (
            types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)
        ):
            labels[field.name] = field.name

    def pick(what: str, given: str | None, usual: tuple[str, ...], fitting: dict[str, str], expected: str) -> str:
        if given is not None:
            fits = [given] if given in fitting else []
        else:
            fits = [name for name in usual if name in fitting][:1] or list(fitting)
        if len(fits) == 1:
            return fitting[fits[0]]
        there = ", ".join(f"{field.name} ({field.type})" for field in schema)
        wanted = f"no column {given}" if given is not None else "several columns" if fits else "no column"
        raise BadData(f"{path} has {wanted} of {what}: {expected}; its columns are {there}")

    return (
        pick("images", image, IMAGE_COLUMNS, images, "binary, or a struct with binary bytes"),
        pick("labels", label, LABEL_COLUMNS, labels, "integers or strings"),
    )


def _class_names(schema: Any, label: str) -> tuple[str, ...] | None:
    """The names that the Hugging Face library writes into the schema."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return tuple(map(str, features[label]["names"]))
    except (KeyError, TypeError, ValueError):
        return None


def _read_labels(files: list[Path], image: str, label: str) -> tuple[Groups, np.ndarray]:
    """Where rows are, and their labels; nothing of the images is read."""
    import pyarrow

    rows, numbers, owners, firsts, labels, total = [], [], [], [], [], 0
    for number, path in enumerate(files):
        with _parquet_file(path) as file:
            if {image.split(".")[0], label} - set(file.schema_arrow.names):
                raise BadData(f"{path} has not the columns {image} and {label} that the first file has")
            try:
                column = file.read(columns=[label], use_threads=False).column(0)
            except _broken() as error:
                raise BadData(f"{path} is broken: {str(error).splitlines()[0]}") from error
            count = file.metadata.num_row_groups
            rows += [file.metadata.row_group(group).num_rows for group in range(count)]
        if column.null_count:
            raise BadData(f"{path} has {column.null_count} rows without a label")
        numbers += range(count)
        owners += [number] * count
        firsts += [total] * count
        total += len(column)
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        labels.append(column.to_numpy())
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    if total == 0:
        raise BadData(f"{files[0].parent} has parquet files without rows")
    groups = Groups(np.array(owners, np.int32), np.array(numbers, np.int32), starts, np.array(firsts, np.int64))
    return groups, np.concatenate(labels)
