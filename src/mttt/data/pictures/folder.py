"""A folder for each class."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64

from mttt.data.errors import BadData, cannot_read
from mttt.data.names import Names, printable
from mttt.data.pictures.encoded import EXTENSIONS, Encoded
from mttt.data.pictures.splits import Found, Splits, make_splits
from mttt.data.splits import EVALUATIONS, split_called

_JUNK = frozenset(("thumbs.db", "desktop.ini", "__macosx"))  # and whatever begins with a dot


class Folder(Encoded):
    """Image files, by their paths below `root`."""

    def __init__(self, root: Path, names: Names, labels: Int32[np.ndarray, " n"]):
        self.root, self.names, self.labels = root, names, labels

    def read(self, index: int) -> bytes:
        return (self.root / self.names[index]).read_bytes()

    def name(self, index: int) -> str:
        return printable(self.names[index])

    def sizes(self) -> Int64[np.ndarray, " n"]:
        return np.array([_size(self.root / self.names[i]) for i in range(len(self))], np.int64)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1  # a broken link; reading it says so


def load_folder(path: Path, *, holdout: float = 0.1, seed: int = 0) -> Splits:
    """Class folders in train/ and val/ (or valid, validation, test), or one tree, of which `holdout` is set apart.

    The name of a folder is the class; what is deeper inside belongs to it. Order is by name, the same everywhere.
    """
    return make_splits(find_folder(path), holdout=holdout, seed=seed)


def find_folder(path: Path) -> Found:
    """What is in the tree."""
    folders, loose = _listing(path)
    splits = _splits(path, folders)
    if splits:
        train, evaluation_name = splits["train"], next((name for name in EVALUATIONS if name in splits), "")
        used = {train, splits.get(evaluation_name)}
        loose += [f"{folder}/" for folder in folders if folder not in used]
    else:
        train, evaluation_name, loose = "", "", []
        if folders and all(split_called(folder) for folder in folders):
            raise BadData(
                f"{path} has {' and '.join(f'{name}/' for name in folders)}, but no train/ with class folders"
            )
    tree = _read_tree(path, train)
    if not tree.files:
        raise BadData(_no_classes(path / train))
    classes = tuple(tree.files)
    problems = list(tree.empty_class_problems())
    if len(classes) == 1:
        problems.append(f"{path / train} has only one class, {printable(classes[0])}: nothing to tell apart")
    ignored = [*loose, *tree.ignored]
    evaluation = None
    if evaluation_name:
        other = _read_tree(path, splits[evaluation_name])
        if not other.files:
            raise BadData(_no_classes(path / splits[evaluation_name]))
        problems += other.empty_class_problems()
        unknown = [name for name in other.files if name not in tree.files]
        problems += [
            f"{splits[evaluation_name]}/{printable(name)} is a class that {train}/ does not have" for name in unknown
        ]
        ignored += other.ignored
        evaluation = other.source(path, {name: label for label, name in enumerate(classes)})
    return Found(
        "folder",
        tree.source(path, {name: label for label, name in enumerate(classes)}),
        evaluation,
        evaluation_name,
        tuple(map(printable, classes)),
        problems=tuple(problems),
        ignored=tuple(map(printable, ignored)),
    )


class _Tree(NamedTuple):
    prefix: str  # of the names: "train/", or nothing
    files: dict[str, list[str]]  # of each class, in order
    ignored: list[str]

    def empty_class_problems(self) -> list[str]:
        return [
            f"class folder {printable(self.prefix + name)}/ has no images" for name, f in self.files.items() if not f
        ]

    def source(self, root: Path, label_of: dict[str, int]) -> Folder:
        """Images of classes without a number are left out; that they are there is a problem already."""
        known = [(file, label_of[name]) for name, files in self.files.items() if name in label_of for file in files]
        return Folder(root, Names(file for file, _ in known), np.array([label for _, label in known], np.int32))


def _splits(path: Path, folders: list[str]) -> dict[str, str]:
    """The folder of each split, if this is a tree of splits: there is a train/, with folders in it."""
    found: dict[str, str] = {}
    for folder in folders:
        if (split := split_called(folder)) is not None:
            found.setdefault(split, folder)
    # A class may be called train, like the vehicle; then its folder holds pictures.
    return found if "train" in found and _listing(path / found["train"])[0] else {}


def _read_tree(root: Path, folder: str) -> _Tree:
    prefix = f"{folder}/" if folder else ""
    classes, loose = _listing(root / folder)
    ignored = [prefix + name for name in loose]
    files = {}
    for name in classes:
        found = sorted(_walk(root, prefix + name, ()))
        files[name] = [file for file in found if os.path.splitext(file)[1].lower() in EXTENSIONS]
        ignored += [file for file in found if os.path.splitext(file)[1].lower() not in EXTENSIONS]
    return _Tree(prefix, files, ignored)


def _walk(root: Path, folder: str, above: tuple[str, ...]) -> Iterator[str]:
    """All files below, through links too, but not in circles."""
    real = os.path.realpath(root / folder)
    if real in above:
        return
    folders, files = _listing(root / folder)
    yield from (f"{folder}/{name}" for name in files)
    for name in folders:
        yield from _walk(root, f"{folder}/{name}", (*above, real))


def _listing(folder: Path) -> tuple[list[str], list[str]]:
    """Names of the folders and of the files in a folder, sorted by code point, without what systems leave behind."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir()) for entry in entries]
    except OSError as error:
        raise cannot_read(folder, error) from error
    found = sorted((name, is_folder) for name, is_folder in found if name[0] != "." and name.lower() not in _JUNK)
    return [name for name, is_folder in found if is_folder], [name for name, is_folder in found if not is_folder]


def _no_classes(folder: Path) -> str:
    pictures = sum(os.path.splitext(name)[1].lower() in EXTENSIONS for name in _listing(folder)[1])
    what = f"has {pictures} images, but no class folders" if pictures else "has no class folders"
    return f"{folder} {what}; put the images of each class into a folder of its own"
