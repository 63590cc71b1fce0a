"""A data set: what to train on, what to evaluate on, and how a run remembers it."""

import hashlib
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mttt.data.source import Source
from mttt.data.spec import Spec
from mttt.data.view import View


class DataSet(NamedTuple):
    """What to train on, what to evaluate on, and what the labels mean."""

    train: View
    evaluation: View
    classes: tuple[str, ...]
    evaluation_name: str  # "test", "validation" or "held-out", for people
    ignored: tuple[str, ...] = ()  # files that are there and nobody reads

    @property
    def spec(self) -> Spec:
        """What a model has to know of it."""
        return Spec(self.train.inputs, self.classes)


def describe(data: DataSet) -> dict[str, Any]:
    """What a run has to know of its data, and what must not change under it: plain JSON.

    `Spec.from_json` reads "spec", so that the model can be built where the data are not; ["train"]["examples"] is how
    many there are to train on.
    """
    return {
        "spec": data.spec.to_json(),
        "evaluation_name": data.evaluation_name,
        "train": _describe(data.train.source),
        "evaluation": _describe(data.evaluation.source),
    }


@runtime_checkable
class Digested(Protocol):
    """A source that can tell what is in it, not only what its examples are called."""

    def digest(self) -> str:
        """The same for the same contents, and for no others."""
        ...


def _describe(source: Source[Any]) -> dict[str, Any]:
    if isinstance(source, Digested):
        return {"examples": len(source), "contents": source.digest()}
    digest = hashlib.sha256(np.ascontiguousarray(source.labels).tobytes())
    for index in range(len(source)):
        digest.update(source.name(index).encode(errors="surrogatepass") + b"\0")
    return {"examples": len(source), "names_and_labels": digest.hexdigest()[:16]}
