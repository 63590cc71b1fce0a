"""Pictures of somebody else's classes, numbered as a model numbers its own."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int32

from mttt.data.errors import BadData
from mttt.data.pictures.source import Item, PictureSource

_SHOWN = 5


class Relabelled:
    """A source whose labels are numbers of other classes."""

    def __init__(self, source: PictureSource, labels: Int32[np.ndarray, " n"]):
        self.source, self.labels = source, labels

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> Item:
        return self.source[index]._replace(label=int(self.labels[index]))

    def name(self, index: int) -> str:
        return self.source.name(index)


def relabel(source: PictureSource, classes: Sequence[str], known: Sequence[str], where: str) -> Relabelled:
    """The pictures of a source with `classes`, with the numbers of the classes of the same names in `known`."""
    number = {name: label for label, name in enumerate(known)}
    used: list[int] = np.unique(source.labels).tolist()
    if unknown := [classes[label] for label in used if classes[label] not in number]:
        raise BadData(
            f"{where} has pictures of {len(unknown)} classes that the model does not know: {_some(unknown)}. "
            f"It knows {len(known)}: {_some(known)}"
        )
    numbers = np.array([number.get(name, -1) for name in classes], np.int32)
    return Relabelled(source, numbers[source.labels])


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
