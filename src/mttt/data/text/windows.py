"""Windows of a text: the examples of a language model.

A window has `context` + 1 bytes: all but the last go into the model, and all but the first are what it predicts.
"""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Int32, UInt8

from mttt.data.errors import BadExample
from mttt.data.text.text import Text
from mttt.data.view import Example, OnError


@dataclass(frozen=True)
class Windows:
    """A part of a text, cut into windows. Every byte of it but the first is predicted in one of them.

    What is left at the end, fewer than `context` bytes, is in none.
    """

    text: Text
    begin: int
    end: int
    context: int

    def __len__(self) -> int:
        return max(0, (self.end - self.begin - 1) // self.context)

    def __getitem__(self, index: int) -> UInt8[np.ndarray, " n"]:
        return self.at(self.begin + index * self.context)

    def at(self, place: int) -> UInt8[np.ndarray, " n"]:
        """The window that begins anywhere in the text."""
        return self.text.read(place, place + self.context + 1)

    def name(self, index: int) -> str:
        return f"byte {self.begin + index * self.context:,} of {self.text}"

    @property
    def labels(self) -> Int32[np.ndarray, " n"]:
        """None: the bytes are their own labels."""
        return np.broadcast_to(np.int32(0), len(self))

    def digest(self) -> str:
        """Which bytes of which text these are."""
        return f"{self.text.digest[:16]} {self.begin} {self.end}"


@dataclass(frozen=True)
class EvenWindows:
    """The windows as they are cut: for evaluation."""

    source: Windows

    @property
    def inputs(self) -> jax.ShapeDtypeStruct:
        return _inputs(self.source)

    @property
    def on_error(self) -> OnError:
        return "stop"

    def __len__(self) -> int:
        return len(self.source)

    def example(self, index: int, rng: np.random.Generator) -> Example | BadExample:
        """The window of this number."""
        return _example(self.source, self.source.begin + index * self.source.context)


@dataclass(frozen=True)
class MovedWindows:
    """For training: each window is moved at random, so that no pass over the text cuts it as another one does.

    The places where a window can begin are split evenly among the windows, and each begins at a random one of its own.
    So all places are equally likely, and a pass over the windows still goes over all of the text.
    """

    source: Windows

    @property
    def inputs(self) -> jax.ShapeDtypeStruct:
        return _inputs(self.source)

    @property
    def on_error(self) -> OnError:
        return "stop"

    def __len__(self) -> int:
        return len(self.source)

    def example(self, index: int, rng: np.random.Generator) -> Example | BadExample:
        """A window that begins at a random one of the places of this number."""
        source, count = self.source, len(self.source)
        places = source.end - source.begin - source.context
        first, last = index * places // count, (index + 1) * places // count
        return _example(source, source.begin + int(rng.integers(first, last)))


def _inputs(source: Windows) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((source.context + 1,), np.uint8)


def _example(source: Windows, place: int) -> Example | BadExample:
    try:
        return Example(source.at(place), 0)
    except BadExample as bad:
        return bad
