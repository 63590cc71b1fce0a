"""Pieces of what a model is judged by, to begin with."""

from typing import Any

import numpy as np

from mttt.data import BadExample, DataSet
from mttt.data.text import Windows
from mttt.data.view import generator
from mttt.watch.pictures import Pictured

_TEXT = 600
"""bytes of a piece of text"""


def example_pictures(data: DataSet, count: int) -> dict[str, Pictured]:
    """Some pictures, of each class as many as can be; those that cannot be used are left out."""
    labels, found = np.asarray(data.evaluation.source.labels), {}
    turn = np.zeros(len(labels), int)  # the how manieth of its class each is
    for label in np.unique(labels):
        turn[labels == label] = np.arange(int(np.sum(labels == label)))
    for index in np.lexsort((labels, turn))[: 2 * count]:
        example = data.evaluation.example(int(index), generator(0))
        if not isinstance(example, BadExample) and len(found) < count:
            found[str(len(found))] = Pictured(example.inputs, data.classes[example.label])
    return found


def example_texts(data: DataSet, most: int | None, count: int) -> list[dict[str, str]]:
    """Some pieces of the held-out text, from the beginning of a line on; `most` is how long a text may be."""
    windows: Any = data.evaluation.source
    assert isinstance(windows, Windows)
    size = min(_TEXT, most or _TEXT, windows.end - windows.begin)
    found = []
    for number in range(count):
        place = windows.begin + number * (windows.end - windows.begin - size) // max(count, 1)
        piece = bytes(windows.text.read(place, place + size))
        line = piece.find(b"\n") + 1
        piece = piece[line if line < size // 2 else 0 :]
        text = piece.decode("utf-8", "ignore")
        found.append({"id": str(number), "title": f"held-out text, byte {place:,}", "text": text})
    return found
