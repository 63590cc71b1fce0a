"""A source as a model sees it: examples of one shape."""

from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mttt.data.errors import BadExample
from mttt.data.source import Source

OnError = Literal["stop", "skip"]


class Example(NamedTuple):
    """One labelled example as a model wants it: an array, or a pytree of arrays."""

    inputs: Any
    label: int
    """0 where there is none, as in a text, whose next bytes are what is predicted"""


@runtime_checkable
class View(Protocol):
    """All that the pipeline needs of a kind of data. It can be pickled for worker processes, and read by threads."""

    @property
    def source(self) -> Source[Any]:
        """Where the examples come from: their names and labels."""
        ...

    @property
    def inputs(self) -> Any:
        """Shape and dtype of one example's inputs: a `jax.ShapeDtypeStruct`, or a dict of them."""
        ...

    @property
    def on_error(self) -> OnError:
        """Whether an example that cannot be used ends the training, or is left out."""
        ...

    def __len__(self) -> int: ...

    def example(self, index: int, rng: np.random.Generator) -> Example | BadExample:
        """The example as the model wants it, or what is wrong with it. All randomness comes from `rng`."""
        ...


def generator(key: int) -> np.random.Generator:
    """Random numbers for one example, quick to start: there is one for each row of each batch."""
    return np.random.Generator(np.random.Philox(key=key))
