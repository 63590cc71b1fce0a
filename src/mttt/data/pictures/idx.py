"""MNIST-style IDX files."""

import gzip
import hashlib
import io
import math
import os
import re
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from mttt.data.errors import UNREADABLE, BadData, cannot_read
from mttt.data.pictures.arrays import Arrays
from mttt.data.pictures.labels import encode
from mttt.data.pictures.splits import Found, Splits, make_splits
from mttt.files import regular

WHERE = (
    "On Debian and Ubuntu: apt install dataset-fashion-mnist. Elsewhere: put train-images-idx3-ubyte.gz, "
    "train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz, which are at "
    "https://github.com/zalandoresearch/fashion-mnist, into a folder, and give its path"
)
LIMIT = 2**31  # bytes of a file, unpacked: forty times MNIST

FILE = re.compile(r"(train|t10k|test)-(images|labels)[-.]idx[13]-ubyte(\.gz)?")
FASHION_CLASSES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
# SHA-256 of the training labels: the name of the folder need not tell.
_FASHION_LABELS = "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7"


def find_fashion_mnist() -> Path | None:
    """Where Debian's package dataset-fashion-mnist puts its files, if they are there."""
    shares = [*os.environ.get("XDG_DATA_DIRS", "").split(":"), "/usr/local/share", "/usr/share"]
    places = (Path(share) / "datasets" / "fashion-mnist" for share in shares if share)
    return next((place for place in places if find_files(place)), None)


def find_files(path: Path) -> dict[tuple[str, str], Path]:
    """The IDX files of a folder by part ("train", "test") and content ("images", "labels"); unpacked before gzipped."""
    found = {}
    for file in sorted(path.iterdir(), reverse=True) if path.is_dir() else ():
        if match := FILE.fullmatch(file.name):
            found["train" if match[1] == "train" else "test", match[2]] = file
    return found


def load_idx(path: Path) -> Splits:
    """The folder with train-images-idx3-ubyte and its three companions, gzipped or not."""
    return make_splits(find_idx(path))


def find_idx(path: Path) -> Found:
    """What is in the folder: images to train and to test on."""
    path = path if path.is_dir() else path.parent
    files = find_files(path)
    images, labels = {}, {}
    for part in ("train", "test"):
        for content in ("images", "labels"):
            if (part, content) not in files:
                name = f"{'train' if part == 'train' else 't10k'}-{content}-idx{3 if content == 'images' else 1}-ubyte"
                raise BadData(f"{path} has no {name} (or {name}.gz)")
        images[part] = _read(files[part, "images"], dimensions=3)
        labels[part] = _read(files[part, "labels"], dimensions=1)
        if len(images[part]) != len(labels[part]):
            raise BadData(
                f"{files[part, 'images']} has {len(images[part])} images, "
                f"but {files[part, 'labels'].name} has {len(labels[part])} labels"
            )
    shapes = {part: array.shape[1:] for part, array in images.items()}
    if shapes["train"] != shapes["test"]:
        raise BadData(f"{path} has training images of {shapes['train']} pixels, but test images of {shapes['test']}")
    try:
        encoded, classes = encode(labels)
    except BadData as error:
        raise BadData(f"{path}: {error}") from error
    if len(classes) == len(FASHION_CLASSES) and _is_fashion(path, labels["train"]):
        classes = FASHION_CLASSES
    train, test = (
        Arrays(images[part][..., None], encoded[part], (files[part, "images"].name,)) for part in ("train", "test")
    )
    return Found("idx", train, test, "test", classes, (*shapes["train"], 1))


def _is_fashion(path: Path, labels: UInt8[np.ndarray, " n"]) -> bool:
    return "fashion" in path.resolve().name.lower() or hashlib.sha256(labels.tobytes()).hexdigest() == _FASHION_LABELS


def _read(path: Path, dimensions: int) -> np.ndarray:
    """The array in an IDX file: two zeros, 8 for bytes, how many dimensions, each as four bytes, then the bytes."""
    try:
        with regular(path) as stored, gzip.open(stored) if path.suffix == ".gz" else stored as file:
            header = file.read(4 + 4 * dimensions)
            magic = header[:4].hex()
            if magic != f"0000080{dimensions}":
                raise BadData(
                    f"{path} begins with {magic or 'nothing'}; an IDX file of {dimensions} dimensions with "
                    f"bytes begins with 0000080{dimensions}"
                )
            if len(header) < 4 + 4 * dimensions:
                raise BadData(f"{path} ends after {len(header)} bytes, within its header")
            shape = tuple(np.frombuffer(header, ">i4", offset=4).tolist())
            sizes, count = "×".join(map(str, shape)), math.prod(shape)
            if min(shape) < 1 or count > LIMIT:
                raise BadData(
                    f"{path} has a header that says {sizes}; sizes are 1 or more, and {LIMIT:,} bytes at most"
                )
            data = np.empty(count, np.uint8)
            there = _fill(data, file)
            more = len(file.read(1))
    except UNREADABLE as error:
        raise cannot_read(path, error) from error
    if there + more != count:
        came = f"more than {count}" if more else str(there)
        raise BadData(f"{path} has {came} bytes after its header, which says {sizes}")
    return data.reshape(shape)


def _fill(data: UInt8[np.ndarray, " n"], file: io.BufferedIOBase) -> int:
    """Read as much as there is room for; how much there was. However little is packed, no more is unpacked."""
    view, there = data.data, 0
    while there < len(data) and (read := file.readinto(view[there : there + 2**24])):
        there += read
    return there
