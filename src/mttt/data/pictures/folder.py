"""A folder for each class."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64

from mttt.data.errors import BadData, BadExample, why
from mttt.data.names import Names, printable
from mttt.data.pictures.encoded import EXTENSIONS, Encoded
from mttt.data.pictures.labels import class_names, one_class
from mttt.data.pictures.picture import FILE_LIMIT
from mttt.data.pictures.splits import Found, Splits, make_splits
from mttt.data.plural import counted
from mttt.data.splits import EVALUATIONS, split_called
from mttt.data.walk import Left, identity, listing, walk
from mttt.files import NotRegular, TooLarge, contents

_LEVELS = 64  # of folders in a class


class Folder(Encoded):
    """Image files, by their paths below `root`."""

    def __init__(self, root: Path, names: Names, labels: Int32[np.ndarray, " n"]):
        self.root, self.names, self.labels = root, names, labels

    def read(self, index: int) -> bytes:
        path = self.root / self.names[index]
        try:
            return contents(path, FILE_LIMIT)
        except (NotRegular, TooLarge) as error:
            raise BadExample(self.name(index), why(path, error)) from error

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
    folders, loose = listing(path)
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
    problems = [*tree.problems, *one_class(path / train, classes)]
    ignored = [*loose, *tree.ignored]
    evaluation = None
    if evaluation_name:
        other = _read_tree(path, splits[evaluation_name])
        if not other.files:
            raise BadData(_no_classes(path / splits[evaluation_name]))
        problems += other.problems
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
        class_names(path, classes),
        problems=tuple(problems),
        ignored=tuple(map(printable, ignored)),
    )


class _Tree(NamedTuple):
    prefix: str  # of the names: "train/", or nothing
    files: dict[str, list[str]]  # of each class, in order
    ignored: list[str]
    problems: list[str]

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
    return found if "train" in found and listing(path / found["train"])[0] else {}


def _read_tree(root: Path, folder: str) -> _Tree:
    prefix = f"{folder}/" if folder else ""
    classes, loose = listing(root / folder)
    tree = _Tree(prefix, {}, [prefix + name for name in loose], [])
    owners = {}
    for name in classes:  # what a link inside one class leads to may be another class
        owners.setdefault(identity(root / prefix / name), prefix + name)
    for name in classes:
        found = list(walk(root, prefix + name, _LEVELS, owners))
        files = sorted(file for file in found if isinstance(file, str))
        left = [each for each in found if isinstance(each, Left)]
        for error in (each.error for each in left if each.error is not None):
            raise error
        tree.files[name] = [file for file in files if _is_image(file)]
        tree.ignored.extend(file for file in files if not _is_image(file))
        if not tree.files[name]:
            tree.problems.append(f"class folder {printable(prefix + name)}/ has no images")
        for each in left:
            if each.owner is None:
                tree.problems.append(f"{printable(each.folder)}/ is more than {_LEVELS} folders deep in its class")
            else:
                tree.ignored.append(f"{each.folder}/ (the same folder is in {each.owner}/)")
    return tree


def _is_image(file: str) -> bool:
    return os.path.splitext(file)[1].lower() in EXTENSIONS


def _no_classes(folder: Path) -> str:
    pictures = sum(map(_is_image, listing(folder)[1]))
    what = f"has {counted(pictures, 'image')}, but no class folders" if pictures else "has no class folders"
    return f"{folder} {what}; put the images of each class into a folder of its own"
