"""CIFAR-10 and CIFAR-100 in their official binary version."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mttt.data.errors import BadData, cannot_read
from mttt.data.pictures.arrays import Arrays
from mttt.data.pictures.labels import class_names
from mttt.data.pictures.packed import read_archive
from mttt.data.pictures.splits import Found, Splits, make_splits
from mttt.files import contents

WHERE = (
    "cifar-10-binary.tar.gz and cifar-100-binary.tar.gz are on the CIFAR page of the University of Toronto, "
    "https://www.cs.toronto.edu/~kriz/cifar.html"
)
SHAPE = (32, 32, 3)
_PIXELS = 3 * 32 * 32  # channels first
_NAMES = 2**16  # bytes of the file with the names of the classes


class Layout(NamedTuple):
    """Files of one of the two sets. A record is its labels, of which the last one counts, and the pixels."""

    train: tuple[str, ...]
    test: str
    names: str
    labels: int  # bytes a record
    train_images: int  # a file
    test_images: int

    @property
    def record(self) -> int:
        """How many bytes one image has."""
        return self.labels + _PIXELS

    def sizes(self) -> dict[str, int]:
        """The files, and how many bytes each has; the names have at most so many."""
        train = dict.fromkeys(self.train, self.train_images * self.record)
        return {**train, self.test: self.test_images * self.record, self.names: _NAMES}


LAYOUTS = {
    10: Layout(
        tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin", "batches.meta.txt", 1, 10_000, 10_000
    ),
    100: Layout(("train.bin",), "test.bin", "fine_label_names.txt", 2, 50_000, 10_000),
}


def load_cifar(path: Path, classes: int = 10) -> Splits:
    """The folder of .bin files, or the archive with it (.tar.gz, .tar.xz, .tar), read into memory and not unpacked.

    `classes` is 10 or 100 (the fine labels).
    """
    return make_splits(find_cifar(path, classes))


def find_cifar(path: Path, classes: int) -> Found:
    """What is in the folder or archive: 50,000 images to train on and 10,000 to test on."""
    if classes not in LAYOUTS:
        raise BadData(f"classes={classes}: CIFAR has 10 or 100")
    layout = LAYOUTS[classes]
    wanted = layout.sizes()
    files = _from_folder(path, wanted) if path.is_dir() else read_archive(path, wanted)
    for name in wanted:
        if name not in files:
            raise BadData(f"{path} has no {name}, which CIFAR-{classes} in the binary version has")
    lines = files[layout.names].decode("utf-8", "replace").splitlines()
    names = tuple(line.strip() for line in lines if line.strip())
    if len(names) != classes:
        raise BadData(f"{path}: {layout.names} has {len(names)} class names; expected {classes}")
    train = [_decode(path, name, files.pop(name), layout, layout.train_images, classes) for name in layout.train]
    test = _decode(path, layout.test, files.pop(layout.test), layout, layout.test_images, classes)
    return Found(
        f"cifar{classes}",
        Arrays(np.concatenate([t[0] for t in train]), np.concatenate([t[1] for t in train]), layout.train),
        Arrays(*test, (layout.test,)),
        "test",
        class_names(path, names),
        SHAPE,
    )


def find_folder_of(path: Path, name: str) -> Path | None:
    """Where a file of this name is: in the folder, or in a folder of the folder."""
    return next((file.parent for file in (path / name, *sorted(path.glob(f"*/{name}"))) if file.exists()), None)


def _from_folder(path: Path, wanted: dict[str, int]) -> dict[str, bytes]:
    folder = find_folder_of(path, next(iter(wanted))) or path
    files = {}
    for name, limit in wanted.items():
        try:
            files[name] = contents(folder / name, limit)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise cannot_read(folder / name, error) from error
    return files


def _decode(
    path: Path, name: str, data: bytes, layout: Layout, images: int, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    record = layout.record
    if len(data) != images * record:
        raise BadData(
            f"{name} in {path} has {len(data)} bytes; expected {images * record}: {images} images of {record} bytes"
        )
    rows = np.frombuffer(data, np.uint8).reshape(images, record)
    labels = rows[:, layout.labels - 1].astype(np.int32)
    wrong = np.flatnonzero(labels >= classes)
    if len(wrong):
        raise BadData(
            f"{name} in {path} has label {labels[wrong[0]]} at image {wrong[0]}; with {classes} classes "
            f"labels are 0 to {classes - 1}"
        )
    pixels = rows[:, layout.labels :].reshape(images, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pixels), labels
