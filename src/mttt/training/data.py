"""The data of a run: the same as when it began, or none; and other data to test its model on."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from mttt.data import BadData, DataSet, Source, Subset, View, describe
from mttt.data.pictures import Arrays, PictureView, find_data
from mttt.data.pictures.relabelled import relabel
from mttt.data.text import EvenWindows, Windows, find_text
from mttt.fields import FieldError, differences
from mttt.recipes import recipe_of
from mttt.recipes.data import fit_picture
from mttt.recipes.purpose import TextData
from mttt.runs import Run
from mttt.training.load import Loaded


def check_data(run: Run, data: DataSet) -> None:
    """Refuse other data than the run began with: labels may mean something else, and test examples be known."""
    if changed := differences(run.data, describe(data)):
        raise ValueError(
            f"the data of {run.path} are not what they were when it began, so its numbers would mean nothing:\n  "
            + "\n  ".join(map(str, changed))
        )


def load_data(run: Run, path: Path | None = None) -> DataSet:
    """The data of a run, from where they were when it began, or from `path`; others are refused."""
    recipe: Any = recipe_of(run).data
    if path is not None:
        if not hasattr(recipe, "path"):
            raise FieldError("data.path", path, f"the run's data are {recipe.kind}, which come with the program")
        recipe = replace(recipe, path=str(path))
    data = recipe.load()
    check_data(run, data)
    return data


class OtherData(NamedTuple):
    """What a trained model is judged by."""

    view: View
    name: str
    """for people"""


def load_test(loaded: Loaded, path: Path) -> OtherData:
    """Other data for the model of a run, in any form that data can have: their evaluation part, or all of them.

    Their classes have to be classes of the run, by name. Pictures go the way of the run's own to the model. For a
    language model it is all of a text.
    """
    if isinstance(loaded.recipe.data, TextData):
        return _other_text(loaded, path)
    found = find_data(path)
    if len(found.classes) > 1:  # one class alone cannot be trained on, but evaluated
        for problem in found.problems[:1]:
            raise BadData(problem)
    whole = found.evaluation is None
    source = found.train if found.evaluation is None else found.evaluation
    if not len(source):
        raise BadData(f"{path} has no pictures to evaluate on")
    source = relabel(source, found.classes, loaded.classes, str(path))
    shape = loaded.spec.inputs.shape
    fit = fit_picture(loaded.recipe.data, shape)
    view = PictureView(source, fit, shape, getattr(loaded.recipe.data, "on_error", "stop"))
    return OtherData(view, f"images of {path}" if whole else f"{found.evaluation_name} images of {path}")


def _other_text(loaded: Loaded, path: Path) -> OtherData:
    text, context = find_text(str(path)).text, loaded.spec.inputs.shape[0] - 1
    if len(text) <= context:
        raise BadData(f"{path} has {len(text):,} bytes, and the run's windows have {context + 1:,}")
    return OtherData(EvenWindows(Windows(text, 0, len(text), context)), f"{path}")


def default_workers(data: DataSet) -> int:
    """Half the processors, if there is something to decode."""
    return 0 if _undecoded(data.train.source) else max(1, len(os.sched_getaffinity(0)) // 2)


def _undecoded(source: Source[Any]) -> bool:
    return _undecoded(source.source) if isinstance(source, Subset) else isinstance(source, Arrays | Windows)
