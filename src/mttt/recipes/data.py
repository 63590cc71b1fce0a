"""Recipes of data: where pictures come from, and what happens to them on the way to the model. Text is in text.py."""

from abc import abstractmethod
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from mttt.data import BadData, DataSet, OnError
from mttt.data.pictures import (
    PictureView,
    Splits,
    cifar,
    detect,
    find_fashion_mnist,
    idx,
    load_cifar,
    load_digits,
    load_folder,
    load_idx,
    load_pairs,
    load_parquet,
    load_tar,
    split_training,
)
from mttt.data.pictures.augment import CentreCrop, Resize, ResizeShortSide, Transform
from mttt.fields import FieldError
from mttt.recipes.augment import AugmentRecipe
from mttt.recipes.check import fraction, not_negative, positive
from mttt.recipes.place import existing
from mttt.recipes.purpose import PictureData
from mttt.recipes.text import ShakespeareRecipe, TextRecipe

LARGEST = 10_000  # side of a picture


def _data_set(
    splits: Splits, augment: AugmentRecipe, *, size: int | None, channels: int | None = None, on_error: OnError = "stop"
) -> DataSet:
    """Squares of `size`: short side scaled to 8/7 of it and the middle cut out, as for ImageNet; or images as they are.

    Images that all have one shape keep it if there is no size, and are only scaled if there is.
    """
    if splits.native_shape is not None:
        height, width, stored = splits.native_shape
        if size is None and height != width:
            raise FieldError("data.size", None, f"the images are {height}×{width}, and the model takes squares")
        side = size or height
        fit: tuple[Transform, ...] = () if (side, side) == (height, width) else (Resize(side),)
        shape = (side, side, channels or stored)
    else:
        side = size or 224
        fit = (ResizeShortSide(_margin(side)), CentreCrop(side))
        shape = (side, side, channels or 3)
    return DataSet(
        PictureView(splits.train, augment.build(side, fit), shape, on_error),
        PictureView(splits.evaluation, fit, shape, on_error),
        splits.classes,
        splits.evaluation_name,
        splits.ignored,
    )


def fit_picture(data: Any, shape: tuple[int, int, int]) -> tuple[Transform, ...]:
    """How a picture that somebody brings becomes what a model trained on `data` knows: as evaluation does it."""
    side = shape[0]
    return (ResizeShortSide(_margin(side) if isinstance(data, PicturesRecipe) else side), CentreCrop(side))


def _margin(side: int) -> int:
    """What the short side is scaled to before the middle is cut out: 256 for 224."""
    return round(side * 256 / 224)


def _hold_out(splits: Splits, holdout: float) -> Splits:
    """For choosing a recipe: some of the training images in the place of the test images."""
    if not holdout:
        return splits
    return split_training(splits.train, splits.classes, splits.native_shape, holdout=holdout)


@dataclass(frozen=True)
class DigitsRecipe(PictureData):
    """The handwritten digits that ship with the package: 8×8 pixels, 1437 images to train on, 360 to test on."""

    kind: ClassVar[str] = "digits"

    holdout: float = 0.0
    """evaluate on this part of the training images, held out, instead of on the test images: for choosing a recipe"""

    def __post_init__(self):
        fraction(holdout=self.holdout)

    def load(self) -> DataSet:
        return _data_set(load_digits(holdout=self.holdout), AugmentRecipe(), size=None)


@dataclass(frozen=True)
class PairsRecipe(PictureData):
    """Two of these digits in far corners of a canvas: are they the same? Drawn from a seed; 4,096 to test on."""

    kind: ClassVar[str] = "pairs"

    size: int = 16
    """side of the canvas, 16 or more: the larger, the farther are the digits apart"""
    seed: int = 0
    """of the pictures"""

    def __post_init__(self):
        positive(LARGEST, size=self.size)
        if self.size < 16:
            raise FieldError("size", self.size, "must be 16 or more, twice the side of a digit")
        not_negative(2**32, seed=self.seed)

    def load(self) -> DataSet:
        return _data_set(load_pairs(self.size, seed=self.seed), AugmentRecipe(), size=None)


@dataclass(frozen=True)
class IdxRecipe(PictureData):
    """MNIST-style IDX files, gzipped or not. Fashion-MNIST, as Debian installs it, is found by itself."""

    kind: ClassVar[str] = "idx"

    path: str = ""
    """folder with train-images-idx3-ubyte and the other three files; not needed for an installed Fashion-MNIST"""
    size: int | None = None
    """scale images to this side"""
    holdout: float = 0.0
    """evaluate on this part of the training images, held out, instead of on the test images: for choosing a recipe"""
    augment: AugmentRecipe = field(default_factory=AugmentRecipe)
    """what varies"""

    def __post_init__(self):
        _check(self.size, self.holdout)

    def load(self) -> DataSet:
        what = "a folder with train-images-idx3-ubyte and the other three files, gzipped or not"
        found = find_fashion_mnist() if not self.path else existing(self.path, what)
        if found is None:
            hint = f"An installed Fashion-MNIST is found without a path. {idx.WHERE}"
            raise FieldError("data.path", self.path, f"{what}. {hint}")
        return _data_set(_hold_out(load_idx(found), self.holdout), self.augment, size=self.size)


@dataclass(frozen=True)
class Cifar10Recipe(PictureData):
    """CIFAR-10 in its binary version, unpacked or as the archive: 32×32 pixels, 50,000 images and 10,000 to test on."""

    kind: ClassVar[str] = "cifar10"

    path: str = ""
    """cifar-10-binary.tar.gz, or the folder that it unpacks to"""
    size: int | None = None
    """scale images to this side"""
    holdout: float = 0.0
    """evaluate on this part of the training images, held out, instead of on the test images: for choosing a recipe"""
    augment: AugmentRecipe = field(default_factory=AugmentRecipe)
    """what varies"""

    _classes: ClassVar[int] = 10

    def __post_init__(self):
        _check(self.size, self.holdout)

    def load(self) -> DataSet:
        classes = self._classes
        path = existing(self.path, f"cifar-{classes}-binary.tar.gz, or the folder that it unpacks to", cifar.WHERE)
        return _data_set(_hold_out(load_cifar(path, classes), self.holdout), self.augment, size=self.size)


@dataclass(frozen=True)
class Cifar100Recipe(Cifar10Recipe):
    """CIFAR-100 in its binary version, unpacked or as the archive, with its 100 fine labels."""

    kind: ClassVar[str] = "cifar100"

    path: str = ""
    """cifar-100-binary.tar.gz, or the folder that it unpacks to"""

    _classes: ClassVar[int] = 100


@dataclass(frozen=True)
class PicturesRecipe(PictureData):
    """Pictures of all sizes. What comes before the model is that of ImageNet, at any size."""

    path: str = ""
    """where they are"""
    size: int = 224
    """side of the square that the model gets"""
    gray: bool = False
    """one channel instead of three"""
    holdout: float = 0.1
    """part of every class to evaluate on, where the data has no split of its own"""
    on_error: OnError = "stop"
    """a picture that cannot be used stops the run, or is skipped, counted and listed"""
    augment: AugmentRecipe = field(default_factory=lambda: AugmentRecipe(crop="inception"))
    """what varies"""

    def __post_init__(self):
        _check(self.size, self.holdout)

    _what: ClassVar[str]  # what the path should be, for messages

    @classmethod
    def like(cls, other: Any) -> "PicturesRecipe":
        """These pictures as others are taken: of the same size, with the same augmentation, …"""
        if not isinstance(other, PicturesRecipe):
            return cls()
        return cls(**{each.name: getattr(other, each.name) for each in fields(PicturesRecipe)})

    @abstractmethod
    def _splits(self, path: Path) -> Splits:
        """Find the pictures."""

    def load(self) -> DataSet:
        path = existing(self.path, self._what)
        try:
            splits = self._splits(path)
        except BadData:
            kind = detect(path).replace("webdataset", "tar")
            if kind == self.kind:
                raise
            raise FieldError("data", self.kind, f"{self.path} is of the kind {kind}; choose that") from None
        channels = 1 if self.gray else 3
        return _data_set(splits, self.augment, size=self.size, channels=channels, on_error=self.on_error)


@dataclass(frozen=True)
class FolderRecipe(PicturesRecipe):
    """A folder for each class, with pictures in it; or train/ and val/ with such folders."""

    kind: ClassVar[str] = "folder"

    _what: ClassVar[str] = "a folder of class folders, or of train/ and val/"

    def _splits(self, path: Path) -> Splits:
        return load_folder(path, holdout=self.holdout)


@dataclass(frozen=True)
class ParquetRecipe(PicturesRecipe):
    """Parquet shards with a column of image bytes and one of labels, as on the Hugging Face hub."""

    kind: ClassVar[str] = "parquet"

    image_column: str | None = None
    """column of the images; found by itself where it can be"""
    label_column: str | None = None
    """column of the labels; found by itself where it can be"""

    _what: ClassVar[str] = "a folder with .parquet files, or one such file"

    def _splits(self, path: Path) -> Splits:
        return load_parquet(path, image_column=self.image_column, label_column=self.label_column, holdout=self.holdout)


@dataclass(frozen=True)
class TarRecipe(PicturesRecipe):
    """ImageNet's own archives (ILSVRC2012_img_train.tar and …_val.tar), or WebDataset shards."""

    kind: ClassVar[str] = "tar"

    _what: ClassVar[str] = "a folder with ILSVRC2012_img_train.tar, or with .tar shards"

    def _splits(self, path: Path) -> Splits:
        return load_tar(path, holdout=self.holdout)


def _check(size: int | None, holdout: float) -> None:
    if size is not None:
        positive(LARGEST, size=size)
    fraction(holdout=holdout)


DataRecipe = (
    DigitsRecipe
    | PairsRecipe
    | IdxRecipe
    | Cifar10Recipe
    | Cifar100Recipe
    | FolderRecipe
    | ParquetRecipe
    | TarRecipe
    | ShakespeareRecipe
    | TextRecipe
)
