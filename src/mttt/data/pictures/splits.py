"""From what is found at a place to what a run trains and evaluates on."""

from typing import NamedTuple

from mttt.data.errors import BadData
from mttt.data.pictures.source import PictureSource
from mttt.data.plural import counted
from mttt.data.source import hold_out


class Found(NamedTuple):
    """What is stored at a place, as it is stored."""

    kind: str
    train: PictureSource
    evaluation: PictureSource | None  # None: nothing is set apart for it
    evaluation_name: str
    classes: tuple[str, ...]
    native_shape: tuple[int, int, int] | None = None  # if all images have one
    problems: tuple[str, ...] = ()  # what prevents training
    ignored: tuple[str, ...] = ()  # what is there and nobody reads

    @property
    def parts(self) -> dict[str, PictureSource]:
        """Sources by the names people know them by."""
        return (
            {"all": self.train}
            if self.evaluation is None
            else {"train": self.train, self.evaluation_name: self.evaluation}
        )


class Splits(NamedTuple):
    """What to train on, what to evaluate on, and what the labels mean."""

    train: PictureSource
    evaluation: PictureSource
    classes: tuple[str, ...]
    evaluation_name: str  # "validation", "test" or "held-out"
    native_shape: tuple[int, int, int] | None  # if all images have one
    ignored: tuple[str, ...] = ()  # what is there and nobody reads


def make_splits(found: Found, *, holdout: float = 0.1, seed: int = 0) -> Splits:
    """The split that the data has, or else `holdout` of every class, picked by `seed`, to evaluate on."""
    for first in found.problems[:1]:
        more = counted(len(found.problems) - 1, "more problem")
        raise BadData(f"{first} (and {more}: mttt data inspect lists them)" if found.problems[1:] else first)
    if found.evaluation is not None:
        return Splits(
            found.train, found.evaluation, found.classes, found.evaluation_name, found.native_shape, found.ignored
        )
    splits = split_training(found.train, found.classes, found.native_shape, holdout=holdout, seed=seed)
    return splits._replace(ignored=found.ignored)


def split_training(
    train: PictureSource,
    classes: tuple[str, ...],
    native_shape: tuple[int, int, int] | None,
    *,
    holdout: float,
    seed: int = 0,
) -> Splits:
    """Some of the training images to evaluate on: where nothing else is there, or where the test set must wait."""
    learn, evaluate = hold_out(train, holdout, seed=seed)
    return Splits(learn, evaluate, classes, "held-out", native_shape)
