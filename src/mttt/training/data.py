"""The data of a run: the same as when it began, or none."""

import os
from typing import Any

from mttt.data import DataSet, Source, Subset, describe
from mttt.data.pictures import Arrays
from mttt.fields import differences
from mttt.recipes import recipe_of
from mttt.runs import Run


def check_data(run: Run, data: DataSet) -> None:
    """Refuse other data than the run began with: labels may mean something else, and test examples be known."""
    if changed := differences(run.data, describe(data)):
        raise ValueError(
            f"the data of {run.path} are not what they were when it began, so its numbers would mean nothing:\n  "
            + "\n  ".join(map(str, changed))
        )


def load_data(run: Run) -> DataSet:
    """The data of a run, from where they were when it began; others are refused."""
    data = recipe_of(run).data.load()
    check_data(run, data)
    return data


def default_workers(data: DataSet) -> int:
    """Half the processors, if there is something to decode."""
    return 0 if _in_memory(data.train.source) else max(1, len(os.sched_getaffinity(0)) // 2)


def _in_memory(source: Source[Any]) -> bool:
    return _in_memory(source.source) if isinstance(source, Subset) else isinstance(source, Arrays)
