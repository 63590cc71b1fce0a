"""WebDataset shards: tar files in which the files of one sample have one name, up to its first dot.

train-000000.tar
    000017.jpg  000017.cls    a picture, and its class: a number from 0, or a word
    000018.png  000018.json   or the class as "label" (or "cls") of a JSON object
classes.txt                   beside the shards, if numbers have names: one a line
"""

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mttt.data.errors import BadData
from mttt.data.lines import quoted, read_lines
from mttt.data.names import printable
from mttt.data.pictures.encoded import EXTENSIONS
from mttt.data.pictures.headers import Member
from mttt.data.pictures.labels import LONGEST, class_names, encode, one_class
from mttt.data.pictures.members import Members, list_members
from mttt.data.pictures.shards import find_shards
from mttt.data.pictures.splits import Found
from mttt.data.plural import counted
from mttt.files import regular

CLASSES = "classes.txt"
_BYTES = {"cls": 2**12, "json": 2**20}  # where a class may be, in this order, and how large that file may be
_DIGITS = 9  # of a class that is a number


def find_webdataset(path: Path) -> Found:
    """What is in the shards: train-….tar and val-….tar, or shards of one set."""
    shards = find_shards(path, ".tar")
    problems, ignored = list(shards.problems), list(shards.ignored)
    samples: dict[str, tuple[list[int], list[Member]]] = {}
    raw = {}
    for part, files in shards.parts.items():
        owners, images, values = [], [], []
        for owner, file in enumerate(files):
            for image, value in _samples(file, problems, ignored):
                owners.append(owner)
                images.append(image)
                values.append(value)
        if not images:
            raise BadData(problems[0] if problems else f"{path} has no images in its tar files of {part}")
        samples[part], raw[part] = (owners, images), values
    try:
        labels, classes = encode(_numbers_or_words(raw), _names_of_numbers(shards.train[0].with_name(CLASSES)))
    except BadData as error:
        raise BadData(f"{path}: {error}") from error
    problems += one_class(path, classes)
    sources = [
        Members(tuple(shards.parts[part]), np.array(owners, np.int32), images, labels[part])
        for part, (owners, images) in samples.items()
    ]
    return Found(
        "webdataset",
        sources[0],
        sources[1] if len(sources) > 1 else None,
        shards.evaluation_name,
        class_names(path, classes),
        problems=tuple(problems),
        ignored=tuple(ignored),
    )


def _samples(file: Path, problems: list[str], ignored: list[str]) -> list[tuple[Member, str]]:
    """Images and classes of one shard; samples that lack one of them are problems."""
    samples: dict[str, dict[str, Member]] = {}
    index = list_members(file)
    ignored += map(printable, index.ignored)
    for member in index.members:
        folder, slash, base = member.name.rpartition("/")
        key, dot, extension = base.partition(".")
        if key and dot:  # neither hidden nor without extension
            samples.setdefault(f"{folder}{slash}{key}", {})[extension.lower()] = member
    found, imageless, labelless = [], [], []
    with regular(file) as opened:
        for key, parts in samples.items():
            image = next((member for extension, member in parts.items() if f".{extension}" in EXTENSIONS), None)
            try:
                value = _value(opened, parts)
            except (OSError, ValueError, RecursionError) as error:
                raise BadData(f"{file}: the class of {printable(key)} cannot be read: {error}") from error
            if image is None:
                imageless.append(key)
            elif value is None:
                labelless.append(key)
            else:
                found.append((image, value))
    for keys, what in ((imageless, "image"), (labelless, "class (.cls or .json)")):
        if keys:
            have = counted(len(keys), "sample has", "samples have")
            problems.append(f"{file}: {have} no {what}, the first is {printable(keys[0])}")
    return found


def _value(file: BinaryIO, parts: dict[str, Member]) -> str | None:
    """The class of one sample, as it is written."""
    name = next((name for name in _BYTES if name in parts), None)
    if name is None:
        return None
    member = parts[name]
    if member.size > _BYTES[name]:
        raise ValueError(f"the .{name} file has {member.size:,} bytes; at most {_BYTES[name]:,} are read")
    file.seek(member.offset)
    data = file.read(member.size)
    value: Any = data.decode("utf-8").strip() if name == "cls" else _of_json(data)
    if value is None or value == "":
        return None
    if not isinstance(value, str | int | float):
        raise ValueError(f"it is {quoted(json.dumps(value))}; expected a number or a word")
    if len(word := str(value)) > LONGEST:
        raise ValueError(f"it is {quoted(word)}; a class name has at most {LONGEST} characters")
    return word


def _of_json(data: bytes) -> Any:
    fields = json.loads(data)
    if not isinstance(fields, dict):
        raise ValueError('the .json file is no object; expected {"label": …}')
    return next((fields[name] for name in ("label", "cls") if name in fields), None)


def _numbers_or_words(raw: dict[str, list[str]]) -> dict[str, np.ndarray]:
    """Numbers, if all of them are."""
    if not all(value.isdecimal() for values in raw.values() for value in values):
        return {part: np.array(values, object) for part, values in raw.items()}
    for part, values in raw.items():
        for place in (place for place, value in enumerate(values) if len(value) > _DIGITS):
            raise BadData(f"image {place} of {part} has label {quoted(values[place])}; labels must be 0, 1, 2, …")
    return {part: np.array(list(map(int, values)), np.int64) for part, values in raw.items()}


def _names_of_numbers(file: Path) -> tuple[str, ...] | None:
    return tuple(read_lines(file)) if file.exists() else None
