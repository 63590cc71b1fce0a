"""Tar files: ImageNet's own archives, or WebDataset shards."""

from itertools import islice
from pathlib import Path

from mttt.data.errors import BadData
from mttt.data.pictures.imagenet import TRAIN, VALIDATION, find_imagenet
from mttt.data.pictures.packed import first_names
from mttt.data.pictures.splits import Found, Splits, make_splits
from mttt.data.pictures.webdataset import find_webdataset


def load_tar(path: Path, *, holdout: float = 0.1, seed: int = 0) -> Splits:
    """ILSVRC2012_img_train.tar (or its folder) as in `imagenet.py`, or shards as in `webdataset.py`."""
    return make_splits(find_tar(path), holdout=holdout, seed=seed)


def find_tar(path: Path) -> Found:
    """What is in the tar file or files."""
    return find_imagenet(path) if is_imagenet(path) else find_webdataset(path)


def is_imagenet(path: Path) -> bool:
    """Whether this is ImageNet's training archive, or the folder with it."""
    if path.is_dir():
        if (path / VALIDATION).exists() and not (path / TRAIN).exists():
            raise BadData(f"{path} has {VALIDATION}, but no {TRAIN}")
        return (path / TRAIN).exists()
    return any(name.endswith(".tar") for name in islice(first_names(path), 8))
