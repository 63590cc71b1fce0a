"""Where a model on the page comes from: a run, which may still be training, or a file that ships with the package."""

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any

from mttt.data import DataSet
from mttt.recipes import Recipe
from mttt.runs import Run, in_use, steps_in, summary
from mttt.training import Loaded, Prepared, load, load_data, prepared_of
from mttt.watch.compact import Compact, read_compact


class ModelSource(ABC):
    """A model that can be looked at, and what is known of it before it is loaded."""

    name: str
    ships: bool
    prepared: Prepared

    @property
    def recipe(self) -> Recipe:
        return self.prepared.recipe

    @property
    @abstractmethod
    def newest(self) -> int | None:
        """After how many steps of training it would be loaded; None if there is nothing to load."""

    @property
    @abstractmethod
    def why_not(self) -> str | None:
        """Why it cannot be looked at yet, in a sentence."""

    @abstractmethod
    def load(self) -> Loaded:
        """The newest."""

    @abstractmethod
    def data(self) -> DataSet:
        """The data that it is judged by, if they are there; errors are those of data and runs."""

    @abstractmethod
    def result(self) -> dict[str, Any]:
        """`accuracy` or `bits_per_byte` of its newest evaluation, None where there is none."""

    @property
    def run(self) -> Run | None:
        """Its run, if its training can be shown."""
        return None

    @cached_property
    def shapes(self) -> Any:
        """The model with shapes in the place of arrays."""
        return self.prepared.shapes().model


class RunSource(ModelSource):
    """A run; its newest checkpoint is the model."""

    ships = False

    def __init__(self, path: Path):
        self._run = Run.open(path)
        self.name = path.resolve().name
        self.prepared = prepared_of(self._run)

    @property
    def run(self) -> Run:
        return self._run

    @property
    def newest(self) -> int | None:
        return next(iter(steps_in(self._run.path / "checkpoints")), None)

    @property
    def why_not(self) -> str | None:
        if self.newest is not None:
            return None
        return "It has no checkpoint yet; " + ("the first one comes soon." if in_use(self._run) else "train it first.")

    def load(self) -> Loaded:
        return load(self._run.path)

    def data(self) -> DataSet:
        return load_data(self._run)

    def result(self) -> dict[str, Any]:
        found = summary(self._run)
        return {"accuracy": found.accuracy, "bits_per_byte": found.bits_per_byte}


class ShippedSource(ModelSource):
    """A file that ships with the package."""

    ships = True

    def __init__(self, path: Path):
        self._compact: Compact = read_compact(path)
        self.name = path.stem
        self.prepared = self._compact.prepared

    @property
    def newest(self) -> int:
        return self._compact.step

    @property
    def why_not(self) -> None:
        return None

    def load(self) -> Loaded:
        return self._compact.load()

    def data(self) -> DataSet:
        return self.recipe.data.load()

    def result(self) -> dict[str, Any]:
        return self._compact.result
