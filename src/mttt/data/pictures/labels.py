"""From labels as files have them, numbers or words, to 0 … classes − 1."""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from jaxtyping import Int32

from mttt.data.errors import BadData
from mttt.data.lines import quoted
from mttt.data.names import printable
from mttt.data.plural import counted

LONGEST = 255  # characters of a class name

Labels = dict[str, Int32[np.ndarray, " _"]]


def encode(raw: Mapping[str, np.ndarray], names: tuple[str, ...] | None = None) -> tuple[Labels, tuple[str, ...]]:
    """The labels of each part and the names of the classes. The first part is what is trained on.

    Words are classes in sorted order. Numbers are classes themselves: of `names` if there are any, otherwise 0 to the
    largest, all of which must be there, so that one broken label does not make a hundred classes.
    """
    train = next(iter(raw.values()))
    if any(values.dtype.kind not in "iu" for values in raw.values()):
        return _encode_words({part: [str(value) for value in values.tolist()] for part, values in raw.items()}, names)
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
                f"image {wrong[0]} of {part} has label {values[wrong[0]]}; "
                f"with {counted(len(names), 'class', 'classes')} labels are 0 to {len(names) - 1}"
            )
    return {part: values.astype(np.int32) for part, values in raw.items()}, names


def _encode_words(raw: Mapping[str, list[str]], names: tuple[str, ...] | None) -> tuple[Labels, tuple[str, ...]]:
    classes = names or tuple(sorted(set(next(iter(raw.values())))))
    label_of = {name: label for label, name in enumerate(classes)}
    encoded = {}
    for part, values in raw.items():
        encoded[part] = np.array([label_of.get(value, -1) for value in values], np.int32)
        wrong = np.flatnonzero(encoded[part] < 0)
        if len(wrong):
            raise BadData(
                f"image {wrong[0]} of {part} has label {quoted(values[wrong[0]])}, which no training image has; "
                f"there are {counted(len(classes), 'class', 'classes')}"
            )
    return encoded, classes


def class_names(where: object, names: Iterable[str]) -> tuple[str, ...]:
    """Names as they are shown and kept: without control characters, not too long, and each of one class only."""
    shown = tuple(map(printable, names))
    if long := [name for name in shown if len(name) > LONGEST]:
        raise BadData(f"{where}: the class name {quoted(long[0])} has more than {LONGEST} characters")
    if len(set(shown)) < len(shown):
        twice = Counter(shown).most_common(1)[0][0]
        raise BadData(f"{where}: two classes are called {quoted(twice)}; give each a name of its own")
    return shown


def one_class(where: object, classes: tuple[str, ...]) -> list[str]:
    """The problem of a set with only one class, if it is one."""
    if len(classes) != 1:
        return []
    return [f"{where} has only one class, {printable(classes[0])}; a classifier needs two or more"]
