"""WebDataset shards: tar files in which the files of one sample have one name, up to its first dot.

train-000000.tar
    000017.jpg  000017.cls    a picture, and its class: a number from 0, or a word
    000018.png  000018.json   or the class as "label" (or "cls") of a JSON object
classes.txt                   beside the shards, if numbers have names: one a line
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from mttt.data.errors import BadData, cannot_read
from mttt.data.pictures.encoded import EXTENSIONS
from mttt.data.pictures.labels import encode
from mttt.data.pictures.members import Member, Members, list_members
from mttt.data.pictures.shards import find_shards
from mttt.data.pictures.splits import Found

CLASSES = "classes.txt"


def find_webdataset(path: Path) -> Found:
    """What is in the shards: train-….tar and val-….tar, or shards of one set."""
    shards = find_shards(path, ".tar")
    problems = list(shards.problems)
    samples: dict[str, tuple[list[int], list[Member]]] = {}
    raw = {}
    for part, files in shards.parts.items():
        owners, images, values = [], [], []
        for owner, file in enumerate(files):
            for image, value in _samples(file, problems):
                owners.append(owner)
                images.append(image)
                values.append(value)
        if not images:
            raise BadData(problems[0] if problems else f"{path} has no images in its tar files of {part}")
        samples[part], raw[part] = (owners, images), values
    try:
        labels, classes = encode(_numbers_or_words(raw), _class_names(shards.train[0].with_name(CLASSES)))
    except BadData as error:
        raise BadData(f"{path}: {error}") from error
    if len(classes) == 1:
        problems.append(f"{path} has only one class, {classes[0]}: nothing to tell apart")
    sources = [
        Members(tuple(shards.parts[part]), np.array(owners, np.int32), images, labels[part])
        for part, (owners, images) in samples.items()
    ]
    return Found(
        "webdataset",
        sources[0],
        sources[1] if len(sources) > 1 else None,
        shards.evaluation_name,
        classes,
        problems=tuple(problems),
        ignored=tuple(shards.ignored),
    )


def _samples(file: Path, problems: list[str]) -> list[tuple[Member, str]]:
    """Images and classes of one shard; samples that lack one of them are problems."""
    samples: dict[str, dict[str, Member]] = {}
    for member in list_members(file):
        folder, slash, base = member.name.rpartition("/")
        key, dot, extension = base.partition(".")
        if key and dot:  # neither hidden nor without extension
            samples.setdefault(f"{folder}{slash}{key}", {})[extension.lower()] = member
    found, imageless, labelless = [], [], []
    with file.open("rb", buffering=0) as opened:

        def read(member: Member) -> bytes:
            opened.seek(member.offset)
            return opened.read(member.size)

        for key, parts in samples.items():
            image = next((member for extension, member in parts.items() if f".{extension}" in EXTENSIONS), None)
            value = _value(key, file, parts, read)
            if image is None:
                imageless.append(key)
            elif value is None:
                labelless.append(key)
            else:
                found.append((image, value))
    for keys, what in ((imageless, "an image"), (labelless, "a class (.cls or .json)")):
        if keys:
            problems.append(f"{file}: {len(keys)} samples have not {what}, the first is {keys[0]}")
    return found


def _value(key: str, file: Path, parts: dict[str, Member], read: Any) -> str | None:
    try:
        if "cls" in parts:
            return read(parts["cls"]).decode("utf-8").strip() or None
        if "json" in parts:
            fields = json.loads(read(parts["json"]))
            value = next((fields[name] for name in ("label", "cls") if name in fields), None)
            return None if value is None else str(value)
    except (ValueError, TypeError) as error:
        raise BadData(f"{file}: the class of {key} cannot be read: {error}") from error
    return None


def _numbers_or_words(raw: dict[str, list[str]]) -> dict[str, np.ndarray]:
    """Numbers, if all of them are."""
    if all(value.isdecimal() for values in raw.values() for value in values):
        return {part: np.array(list(map(int, values)), np.int64) for part, values in raw.items()}
    return {part: np.array(values) for part, values in raw.items()}


def _class_names(file: Path) -> tuple[str, ...] | None:
    try:
        return tuple(line.strip() for line in file.read_text("utf-8").splitlines() if line.strip())
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise cannot_read(file, error) from error
