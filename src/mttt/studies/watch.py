"""Who watches a grid of trainings, whatever is trained."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from mttt.training import Observer


@runtime_checkable
class Work(Protocol):
    """One training of a grid; `str` of it is for people. Rows have a name, by which it is known how long they take."""

    @property
    def row(self) -> Any: ...


@runtime_checkable
class Watcher(Protocol):
    """Sees a grid as it is worked through. Weights are about how long a job takes compared to others."""

    def begin(self, left: Mapping[Any, float], total: float) -> None: ...

    def job(self, job: Work, steps: int, evaluation_name: str) -> Observer: ...

    def finished(self, job: Work, accuracy: float | None) -> None: ...

    def left_to_others(self, job: Work) -> None: ...

    def say(self, words: str) -> None: ...
