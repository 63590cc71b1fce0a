"""What a tracker is."""

import os
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

Record = dict[str, Any]
"""a line of metrics.jsonl"""


class Tracked(NamedTuple):
    """The run whose numbers a tracker gets."""

    path: str
    """its directory"""
    id: str
    """what it is known by, whatever it is called"""
    recipe: dict[str, Any]
    directory: str | None = None
    """where to put files instead of the tracker's usual place"""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return os.path.basename(os.path.abspath(self.path))

    @property
    def unique_name(self) -> str:
        """Of two runs with the same name in different places, each has another one."""
        return f"{self.name}-{self.id[:6]}"


class Tracker(ABC):
    """Opened by `__init__(tracked)`, told every record from the first one on, closed.

    The run may have been tracked before, by a process that was stopped: a tracker leaves out what it has already, or
    makes what it had invalid.
    """

    where: str
    """where the numbers can be looked at"""

    @abstractmethod
    def record(self, record: Record) -> None:
        """One more line of metrics."""

    @abstractmethod
    def close(self) -> None:
        """There are no more. Returns when everything has arrived."""
