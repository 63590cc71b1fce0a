"""From a run back to its model."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mttt.data import Spec
from mttt.recipes import Recipe, recipe_of
from mttt.runs import Run
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
    """The model of a run's newest checkpoint. The data that it was trained on may be gone."""
    run = Run.open(Path(path))
    spec, examples = Spec.from_json(run.data["spec"]), run.data["train"]["examples"]
    prepared = prepare_for(recipe_of(run), spec, examples)
    with run.checkpoints() as checkpoints:
        step = checkpoints.latest()
        if step is None:
            raise run.no_checkpoint()
        state, _ = checkpoints.restore(step, prepared.state())
    return Loaded(state.model, step, prepared)
