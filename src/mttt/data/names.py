"""Many names in little memory."""

from collections.abc import Iterable
from itertools import accumulate

import numpy as np


class Names:
    """A sequence of strings, kept as bytes end to end: a million cost their letters, not a million objects."""

    def __init__(self, names: Iterable[str]):
        encoded = [name.encode("utf-8", "surrogateescape") for name in names]  # file names need not be UTF-8
        self._letters = b"".join(encoded)
        self._bounds = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(encoded) + 1)

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._letters[self._bounds[index] : self._bounds[index + 1]].decode("utf-8", "surrogateescape")


def printable(name: str) -> str:
    """The name with a replacement for what cannot or should not be printed: bytes that are not UTF-8, control codes."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
