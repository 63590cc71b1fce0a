"""From a run back to its model."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mttt.data import Spec
from mttt.recipes import Recipe, recipe_of
from mttt.runs import Run, RunError
from mttt.training.prepare import Prepared, prepare_for

_STORED = ("uint8", "uint16", "int8", "int16", "int32", "int64", "uint32", "float16", "bfloat16", "float32", "float64")


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

    Arguments:
    - path: the directory of the run

    Returns: a `Loaded`. `model` is the model and `step` the number of training steps that it has had; `recipe` is what
    it was trained by; `spec` and `classes` are the shape and stored dtype of an input, and the names of the classes;
    `read` turns a stored input (for pictures bytes) into what the model takes; `prepared` holds the parts of its
    training.

    Example:

        >>> import equinox as eqx, jax.numpy as jnp, mttt
        >>> loaded = mttt.load("runs/digits")
        >>> picture = jnp.zeros((8, 8, 1), jnp.uint8)  # as loaded.spec.inputs says
        >>> eqx.filter_jit(loaded.model)(loaded.read(picture)).shape
        (10,)
    """
    run = Run.open(Path(path))
    prepared = prepared_of(run)
    try:
        like = prepared.state()
    except (ValueError, TypeError) as error:
        raise _cannot_be_built(run, error) from error
    with run.checkpoints() as checkpoints:
        kept = checkpoints.newest(like)
        if kept is None:
            raise run.no_checkpoint()
    return Loaded(kept.state.model, kept.step, prepared)


def prepared_of(run: Run) -> Prepared:
    """What the training of a run is made of, without its data and before anything is computed."""
    recipe = recipe_of(run)
    try:
        return prepare_for(recipe, *what_the_data_were(run.data, run.path / "recipe.json"))
    except (ValueError, TypeError) as error:
        raise _cannot_be_built(run, error) from error


def _cannot_be_built(run: Run, error: Exception) -> RunError:
    return RunError(f"{run.path / 'recipe.json'} describes a model that cannot be built: {error}")


def what_the_data_were(data: Any, file: Path) -> tuple[Spec, int]:
    """What the inputs and classes are, and how many examples there were to train on, as `file` says."""
    match data:
        case {"spec": {"inputs": inputs, "classes": [*classes]} as spec, "train": {"examples": int(examples)}} if (
            _is_described(inputs) and classes and all(isinstance(name, str) for name in classes) and examples > 0
        ):
            return Spec.from_json(spec), examples
    raise RunError(
        f"{file} does not say what the data were: data.spec should have inputs (shape, dtype) and classes (texts), and "
        "data.train.examples be a whole number"
    )


def _is_described(inputs: Any) -> bool:
    match inputs:
        case {"shape": [*shape], "dtype": str(dtype)}:
            return all(type(size) is int and 0 < size < 2**31 for size in shape) and dtype in _STORED
        case {**parts}:
            return bool(parts) and all(isinstance(part, dict) and _is_described(part) for part in parts.values())
    return False
