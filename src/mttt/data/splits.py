"""What people call the parts of a data set, in the names of files and folders."""

import re
from pathlib import Path

# Validation is preferred to test: a test set has often no labels.
_SPLITS = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}
EVALUATIONS = ("validation", "test")
_WORD = re.compile(rf"(?:^|[-_.])({'|'.join(sorted(_SPLITS, key=len, reverse=True))})(?:[-_.\d]|$)")


def split_called(name: str) -> str | None:
    """The split that a folder of this name is, if any: Val is validation."""
    return _SPLITS.get(name.lower())


def split_in(file_name: str) -> str | None:
    """The split that a file's name speaks of, if any: imagenet-train-00017.tar is of train."""
    found = _WORD.search(file_name.lower())
    return _SPLITS[found[1]] if found else None


def name_of(file: Path) -> str:
    """A file's name in messages, with the folder of its split: train/00000.tar and val/00000.tar are two."""
    return f"{file.parent.name}/{file.name}" if split_called(file.parent.name) else file.name
