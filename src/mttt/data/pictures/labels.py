"""From labels as files have them, numbers or words, to 0 … classes − 1."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Int32

from mttt.data.errors import BadData

Labels = dict[str, Int32[np.ndarray, " _"]]


def encode(raw: Mapping[str, np.ndarray], names: tuple[str, ...] | None = None) -> tuple[Labels, tuple[str, ...]]:
    """The labels of each part and the names of the classes. The first part is what is trained on.

    Words are classes in sorted order. Numbers are classes themselves: of `names` if there are any, otherwise 0 to the
    largest, all of which must be there, so that one broken label does not make a hundred classes.
    """
    train = next(iter(raw.values()))
    if any(values.dtype.kind not in "iu" for values in raw.values()):
        return _encode_words({part: values.astype(str) for part, values in raw.items()}, names)
    if names is None and len(train):
        present = np.unique(train)
        wrong = np.flatnonzero(present != np.arange(len(present)))
        if len(wrong):
            label, expected = int(present[wrong[0]]), int(wrong[0])
            where = int(np.flatnonzero(train == label)[0])
            raise BadData(
                f"image {where} of {next(iter(raw))} has label {label}, but no image has label {expected}; "
                f"labels must be 0, 1, 2, … without a gap"
            )
        names = tuple(str(label) for label in range(len(present)))
    names = names or ()
    for part, values in raw.items():
        wrong = np.flatnonzero((values < 0) | (values >= len(names)))
        if len(wrong):
            raise BadData(
                f"image {wrong[0]} of {part} has label {values[wrong[0]]}; with {len(names)} classes "
                f"labels are 0 to {len(names) - 1}"
            )
    return {part: values.astype(np.int32) for part, values in raw.items()}, names


def _encode_words(raw: Mapping[str, np.ndarray], names: tuple[str, ...] | None) -> tuple[Labels, tuple[str, ...]]:
    classes = np.asarray(names) if names else np.unique(next(iter(raw.values())))
    order = np.argsort(classes)
    encoded = {}
    for part, values in raw.items():
        places = np.searchsorted(classes[order], values).clip(max=len(classes) - 1)
        wrong = np.flatnonzero(classes[order][places] != values)
        if len(wrong):
            raise BadData(
                f"image {wrong[0]} of {part} has label '{values[wrong[0]]}', which no training image has; "
                f"there are {len(classes)} classes"
            )
        encoded[part] = order[places].astype(np.int32)
    return encoded, tuple(classes.tolist())
