"""From a run back to its model."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mttt.data import Spec
from mttt.recipes import Recipe, recipe_of
from mttt.runs import Run, RunError
from mttt.training.prepare import Prepared, prepare_for


@dataclass(frozen=True)
class Loaded:
    """The model of a run, and what is needed to use it."""

    model: Any
    step: int
    """after how many steps of training"""
    prepared: Prepared
    """all that its training is made of"""

    @property
    def recipe(self) -> Recipe:
        """What it was trained by."""
        return self.prepared.recipe

    @property
    def spec(self) -> Spec:
        """What it knows of its data."""
        return self.prepared.spec

    @property
    def classes(self) -> tuple[str, ...]:
        """What its logits mean."""
        return self.spec.classes

    @property
    def read(self) -> Callable[[Any], Any]:
        """Inputs as they are stored (`spec.inputs`; for pictures bytes), of one example, to what the model takes."""
        return self.prepared.read


def load(path: str | Path) -> Loaded:
    """The model of a run's newest whole checkpoint. The data that it was trained on may be gone.

    A `mttt.runs.DamagedCheckpoint` warning tells of newer checkpoints that are not whole.
    """
    run = Run.open(Path(path))
    prepared = prepare_for(recipe_of(run), *_what_the_data_were(run))
    with run.checkpoints() as checkpoints:
        kept = checkpoints.newest(prepared.state())
        if kept is None:
            raise run.no_checkpoint()
    return Loaded(kept.state.model, kept.step, prepared)


def _what_the_data_were(run: Run) -> tuple[Spec, int]:
    try:
        spec, examples = Spec.from_json(run.data["spec"]), run.data["train"]["examples"]
        if type(examples) is not int or examples < 1 or not all(isinstance(name, str) for name in spec.classes):
            raise ValueError("its classes should be texts, and its number of training examples 1 or more")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise RunError(f"{run.path / 'recipe.json'} does not say what the data were: {error}") from error
    return spec, examples
