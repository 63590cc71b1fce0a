"""A source as a model sees it: images of one shape."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import UInt8

from mttt.data.augment import Transform, apply
from mttt.data.errors import BadImage
from mttt.data.picture import open_picture
from mttt.data.source import Example, Item, Source

OnError = Literal["stop", "skip"]


@dataclass(frozen=True)
class View:
    """A source, the transforms that every image of it goes through, and what to do with one that cannot be used."""

    source: Source
    transforms: tuple[Transform, ...]
    shape: tuple[int, int, int]
    on_error: OnError = "stop"

    def __len__(self) -> int:
        return len(self.source)

    def example(self, index: int, rng: np.random.Generator) -> Example | BadImage:
        """The image, transformed; or what is wrong with it."""
        try:
            item = self.source[index]
            image = apply(self.transforms, item.image, rng, shape=self.shape, name=self.source.name(index))
            return Example(image, item.label)
        except BadImage as bad:
            return bad
        except MemoryError:
            return BadImage(self.source.name(index), "takes more memory than there is")


def load_picture(
    path: Path, transforms: tuple[Transform, ...], shape: tuple[int, int, int], *, invert: bool = False
) -> UInt8[np.ndarray, "h w c"]:
    """One file, as a model wants it; `invert` swaps dark and light."""
    picture = apply(transforms, open_picture(path, str(path)), generator(0), shape=shape, name=str(path))
    return 255 - picture if invert else picture


class DataSet(NamedTuple):
    """What to train on, what to evaluate on, and what the labels mean."""

    train: View
    evaluation: View
    classes: tuple[str, ...]
    evaluation_name: str  # "test", "validation" or "held-out", for people
    ignored: tuple[str, ...] = ()  # files that are there and nobody reads

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels of what the model gets."""
        return self.train.shape


def generator(key: int) -> np.random.Generator:
    """Random numbers for one image, quick to start: there is one for each row of each batch."""
    return np.random.Generator(np.random.Philox(key=key))


def describe(data: DataSet) -> dict[str, Any]:
    """What a run has to know of its data, and what must not change under it: plain JSON."""
    return {
        "classes": list(data.classes),
        "image_shape": list(data.image_shape),
        "evaluation_name": data.evaluation_name,
        "train": _describe(data.train.source),
        "evaluation": _describe(data.evaluation.source),
    }


def _describe(source: Source) -> dict[str, Any]:
    digest = hashlib.sha256(np.ascontiguousarray(source.labels).tobytes())
    for index in range(len(source)):
        digest.update(source.name(index).encode(errors="surrogatepass") + b"\0")
    return {"images": len(source), "names_and_labels": digest.hexdigest()[:16]}


class Elsewhere:
    """The images of a run, by their number only: they may be gone."""

    def __init__(self, count: int):
        self.labels = np.zeros(count, np.int32)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Item:
        raise BadImage(self.name(index), "is not here")

    def name(self, index: int) -> str:
        return f"image {index}"


def described(record: dict[str, Any]) -> DataSet:
    """The data set that `describe` described, without its images."""
    shape = tuple(record["image_shape"])
    train, evaluation = (View(Elsewhere(record[part]["images"]), (), shape) for part in ("train", "evaluation"))
    return DataSet(train, evaluation, tuple(record["classes"]), record["evaluation_name"])
