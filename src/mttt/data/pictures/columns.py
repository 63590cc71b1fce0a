"""Parquet files: which columns they have, and the labels in one of them."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mttt.data.errors import BadData, cannot_read
from mttt.data.lines import quoted
from mttt.data.names import printable
from mttt.data.pictures.labels import LONGEST
from mttt.data.plural import counted
from mttt.files import regular

IMAGE_COLUMNS = ("image", "img", "picture", "photo", "jpg", "jpeg", "png")
LABEL_COLUMNS = ("label", "fine_label", "labels", "class", "cls", "target", "category", "y")
_ROWS = 100_000_000  # of a file
_GROUP = 2**31  # bytes of a row group, unpacked


class Columns(NamedTuple):
    """Where images and labels are in each file of a set."""

    file: Path  # the first of the set
    image: str  # path of the column
    label: str
    words: bool  # labels are words, not numbers
    classes: tuple[str, ...] | None  # names of numbered classes, if the file has them


def broken() -> tuple[type[Exception], ...]:
    """What pyarrow raises where a file is not what it should be."""
    import pyarrow

    return pyarrow.ArrowException, OSError, UnicodeDecodeError


def open_parquet(path: Path, words: tuple[str, ...] = ()) -> Any:
    """The file; columns `words` are read as numbers of different words, however often each is repeated."""
    from pyarrow import parquet

    try:
        with regular(path):  # pyarrow would wait for a pipe
            pass
    except OSError as error:
        raise cannot_read(path, error) from error
    try:
        return parquet.ParquetFile(path, memory_map=True, read_dictionary=list(words))
    except broken() as error:
        raise BadData(f"{path} is not a whole parquet file: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return printable((str(error).splitlines() or [type(error).__name__])[0])


def check_group(group: Any) -> None:
    """Refuse a row group that unpacks to more than could be held: a few bytes can say that."""
    if group.total_byte_size > _GROUP:
        raise OSError(f"it unpacks to {group.total_byte_size:,} bytes; at most {_GROUP:,} are read")


def read_columns(path: Path, image: str | None = None, label: str | None = None) -> Columns:
    """The columns of a file: those that are named, or else those that are called and typed as such columns are."""
    from pyarrow import types

    def holds_bytes(kind: Any) -> bool:
        return types.is_binary(kind) or types.is_large_binary(kind)

    try:
        with open_parquet(path) as file:
            schema = file.schema_arrow
            fields = [(field.name, field.type) for field in schema]
    except broken() as error:
        raise BadData(f"{path} is not a whole parquet file: {_first_line(error)}") from error
    images, labels = {}, {}
    for name, kind in fields:
        if types.is_struct(kind) and kind.get_field_index("bytes") >= 0 and holds_bytes(kind.field("bytes").type):
            images[name] = f"{name}.bytes"
        elif holds_bytes(kind):
            images[name] = name
        elif types.is_integer(kind) or _is_words(kind):
            labels[name] = name

    def pick(what: str, given: str | None, usual: tuple[str, ...], fitting: dict[str, str], expected: str) -> str:
        if given is not None:
            fits = [given] if given in fitting else []
        else:
            fits = [name for name in usual if name in fitting][:1] or list(fitting)
        if len(fits) == 1:
            return fitting[fits[0]]
        there = ", ".join(f"{printable(name)} ({kind})" for name, kind in fields)
        wanted = f"no column {given}" if given is not None else "several columns" if fits else "no column"
        raise BadData(f"{path} has {wanted} of {what}: {expected}; its columns are {there}")

    image = pick("images", image, IMAGE_COLUMNS, images, "binary, or a struct with binary bytes")
    label = pick("labels", label, LABEL_COLUMNS, labels, "integers or strings")
    return Columns(path, image, label, _is_words(dict(fields)[label]), _class_names(schema, label))


def _is_words(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_words(kind.value_type)
    return types.is_string(kind) or types.is_large_string(kind)


def _class_names(schema: Any, label: str) -> tuple[str, ...] | None:
    """The names that the Hugging Face library writes into the schema."""
    try:
        names = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][label]["names"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return tuple(map(str, names)) if isinstance(names, list) else None


def read_labels(path: Path, columns: Columns) -> tuple[list[int], np.ndarray]:
    """How many rows each row group has, and the labels of all; nothing of the images is read."""
    _check_same(path, columns)
    try:
        with open_parquet(path, (columns.label,) if columns.words else ()) as file:
            metadata = file.metadata
            if metadata.num_rows > _ROWS:
                raise BadData(f"{path} has {metadata.num_rows:,} rows; at most {_ROWS:,} are read")
            rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            column = file.read(columns=[columns.label], use_threads=False).column(0)
    except broken() as error:
        raise BadData(f"{path} is broken: {_first_line(error)}") from error
    if sum(rows) != len(column):
        raise BadData(f"{path} is broken: it says that it has {sum(rows)} rows, and has {len(column)} labels")
    if column.null_count:
        raise BadData(f"{path} has {counted(column.null_count, 'row')} without a label")
    try:
        return rows, _words(column) if columns.words else _numbers(column)
    except (*broken(), ValueError) as error:
        raise BadData(f"{path}: its labels cannot be read: {_first_line(error)}") from error


def _check_same(path: Path, first: Columns) -> None:
    """The files of a set have the same columns, or else a label of one means something else in another."""
    image = first.image.removesuffix(".bytes")
    here = read_columns(path, image, first.label) if path != first.file else first
    if (here.image, here.words) != (first.image, first.words):
        kinds = ["words" if each.words else "numbers" for each in (here, first)]
        raise BadData(
            f"{path} has images in {here.image} and labels that are {kinds[0]}, but {first.file.name} has images in "
            f"{first.image} and labels that are {kinds[1]}; the files of a set must have the same columns"
        )
    if None not in (here.classes, first.classes) and here.classes != first.classes:
        raise BadData(f"{path} has other class names than {first.file.name}; are they of one set?")


def _numbers(column: Any) -> np.ndarray:
    import pyarrow

    kind = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
    return column.cast(kind).cast(pyarrow.int64()).to_numpy()


def _words(column: Any) -> np.ndarray:
    """Of each word there is one object, and so a long word that is repeated takes no memory."""
    parts = [np.empty(0, object)]
    for chunk in column.chunks:
        chunk = chunk if hasattr(chunk, "indices") else chunk.dictionary_encode()
        words = chunk.dictionary.to_pylist()
        if long := [word for word in words if word is not None and len(word) > LONGEST]:
            raise ValueError(f"{quoted(long[0])} has more than {LONGEST} characters")
        parts.append(np.array([*words, None], object)[chunk.indices.to_numpy()])
    return np.concatenate(parts)
