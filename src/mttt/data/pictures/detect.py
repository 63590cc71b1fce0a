"""What a path is, and opening it."""

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from mttt.data.errors import BadData, cannot_read
from mttt.data.pictures import cifar, idx
from mttt.data.pictures.digits import load_digits
from mttt.data.pictures.encoded import EXTENSIONS
from mttt.data.pictures.folder import find_folder
from mttt.data.pictures.packed import first_names
from mttt.data.pictures.parquet import find_parquet
from mttt.data.pictures.splits import Found, Splits, make_splits
from mttt.data.pictures.tar import TRAIN, find_tar, is_imagenet
from mttt.data.walk import files_below

_FINDERS: dict[str, Callable[[Path], Found]] = {
    "folder": find_folder,
    "idx": idx.find_idx,
    "cifar10": lambda path: cifar.find_cifar(path, 10),
    "cifar100": lambda path: cifar.find_cifar(path, 100),
    "parquet": find_parquet,
    "tar": find_tar,
    "webdataset": find_tar,
}


def open_data(path: Path, *, holdout: float = 0.1, seed: int = 0) -> Splits:
    """What to train and evaluate on, of any kind that `detect` knows."""
    return make_splits(find_data(path), holdout=holdout, seed=seed)


def find_data(path: Path) -> Found:
    """What is at this path, as it is stored. Where no such path is, digits and fashion-mnist are names."""
    if not path.exists() and str(path) == "digits":
        digits = load_digits()
        return Found("digits", digits.train, digits.evaluation, "test", digits.classes, digits.native_shape)
    if not path.exists() and str(path) == "fashion-mnist":
        fashion = idx.find_fashion_mnist()
        if fashion is None:
            raise BadData(f"fashion-mnist is not installed. {idx.WHERE}")
        path = fashion
    return _FINDERS[detect(path)](path)


def detect(path: Path) -> str:
    """The kind of data at this path, one of those below; BadData says what was looked for."""
    if not path.exists():
        raise BadData(f"{path} does not exist")
    kind = _kind_of_folder(path) if path.is_dir() else _kind_of_file(path)
    if kind is None:
        raise BadData(
            f"{path} is not a data set of a known kind: no class folders, no IDX files (train-images-idx3-ubyte), no "
            f"CIFAR binaries (data_batch_1.bin, train.bin) or archive of them, no .parquet, no {TRAIN}, no .tar shards"
        )
    return kind


def _kind_of_folder(path: Path) -> str | None:
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        raise cannot_read(path, error) from error
    if idx.find_files(path):
        return "idx"
    for classes, layout in cifar.LAYOUTS.items():
        if cifar.find_folder_of(path, layout.train[0]) is not None:
            return f"cifar{classes}"
    if "data_batch_1" in names:
        raise _python_version(path)
    files = [(name, name.count("/")) for name in files_below(path, 3)]
    if any(name.endswith(".parquet") for name, _ in files):
        return "parquet"
    # Pictures before tar files, which stay behind where they were unpacked.
    if any(depth and os.path.splitext(name)[1].lower() in EXTENSIONS for name, depth in files):
        return "folder"
    if is_imagenet(path):
        return "tar"
    if any(depth < 2 and name.endswith(".tar") for name, depth in files):
        return "webdataset"
    return "folder" if any((path / name).is_dir() for name in names if name[0] != ".") else None


def _kind_of_file(path: Path) -> str | None:
    if idx.FILE.fullmatch(path.name):
        return "idx"
    if path.suffix == ".parquet":
        return "parquet"
    if not any(suffix in (".tar", ".tgz", ".txz") for suffix in path.suffixes):
        return None
    for name in islice(first_names(path), 8):
        for classes, layout in cifar.LAYOUTS.items():
            if name in (*layout.train, layout.test, layout.names):
                return f"cifar{classes}"
        if name.startswith("data_batch_"):
            raise _python_version(path)
        if name.endswith(".tar"):
            return "tar"
    return "webdataset"


def _python_version(path: Path) -> BadData:
    return BadData(
        f"{path} is the Python version of CIFAR, which is made of pickles and could run code; use the binary version. "
        f"{cifar.WHERE}"
    )
