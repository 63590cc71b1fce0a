"""Trackio: a database on this machine, or a Space (TRACKIO_SPACE_ID)."""

import os
from importlib import import_module
from typing import Any

from mttt.tracking.scalars import scalars
from mttt.tracking.tracker import Record, Tracked, Tracker

_PROJECT = "mttt"


class Trackio(Tracker):
    """A run in the project mttt. Trackio knows runs by their names, so ours has the beginning of its id in it."""

    def __init__(self, tracked: Tracked):
        if tracked.directory is not None:
            os.environ["TRACKIO_DIR"] = tracked.directory  # read when the package is imported
        trackio: Any = import_module("trackio")

        self._run = trackio.init(project=_PROJECT, name=tracked.unique_name, config=tracked.recipe, resume="allow")
        self.where = f"trackio show --project {_PROJECT}"
        # After the steps that it has. It is not public; where it is missing, they are logged again.
        self._first: int = getattr(self._run, "_next_step", 0)

    def record(self, record: Record) -> None:
        if (numbers := scalars(record)) and record["step"] >= self._first:
            self._run.log(numbers, step=record["step"])

    def close(self) -> None:
        self._run.finish()
