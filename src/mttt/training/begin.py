"""A new run that begins with the weights of another."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from mttt.data import DataSet, describe, training_batches
from mttt.outer import State
from mttt.recipes import encode
from mttt.runs import Run, RunError, record_origin
from mttt.training.load import Loaded
from mttt.training.prepare import Prepared

_SHOWN = 12


class DoesNotFit(ValueError):
    """Weights that have no place in the model, or places in the model that have no weights."""


class Taken(NamedTuple):
    """Which arrays of a model are another's, and which are drawn anew."""

    state: State
    taken: tuple[str, ...]
    drawn: tuple[str, ...]


def begin_from(prepared: Prepared, source: Loaded) -> Taken:
    """The state before the first step, with the weights of a trained model. What the rule remembers begins anew.

    The map to the classes is drawn anew if the classes are others. Everything else has to fit.
    """
    theirs, ours = _arrays(source.model), _arrays(prepared.shapes().model)
    same_classes = source.classes == prepared.spec.classes
    taken = {path for path in ours if _shape(theirs, path) == _shape(ours, path)}
    if not same_classes:
        taken -= {path for path in taken if path.startswith(".head.logits.")}
    others = [path for path in dict.fromkeys([*theirs, *ours]) if path not in taken and not path.startswith(".head.")]
    if others:
        lines = [f"{path}: {_words(theirs, path)} there, {_words(ours, path)} here" for path in others[:_SHOWN]]
        more = [f"and {len(others) - _SHOWN} more"] if len(others) > _SHOWN else []
        raise DoesNotFit("the weights do not fit this model:\n  " + "\n  ".join([*lines, *more]))
    state = prepared.state()

    def fill(path: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(path)
        return theirs[name] if name in taken else leaf

    model = jax.tree_util.tree_map_with_path(fill, state.model)
    state = eqx.tree_at(lambda s: (s.model, s.rule_state), state, (model, prepared.rule.init(model)))
    return Taken(
        state, tuple(path for path in ours if path in taken), tuple(path for path in ours if path not in taken)
    )


def create_from(path: Path, prepared: Prepared, data: DataSet, begun: Taken, source: Loaded, given: Path) -> Run:
    """A run that has these weights as its checkpoint of step 0: it does not need the other one any more.

    `given` is the path of the other run, for the record. The directory appears with all that is in it, or not at all.
    """
    if path.exists():
        raise RunError(f"{path} exists already")
    beside = path.with_name(f".{path.name}.{os.getpid()}.from")
    shutil.rmtree(beside, ignore_errors=True)  # of a process that was killed
    try:
        run = Run.create(beside, encode(prepared.recipe), describe(data))
        record_origin(run, {"run": str(given), "step": source.step, "arrays": _digest(source.model)})
        size, seed = prepared.plan.batch_size, prepared.recipe.seed
        with training_batches(data.train, size, seed=seed) as batches, run.checkpoints(write=True) as checkpoints:
            checkpoints.save(0, begun.state, batches.get_state())
        try:
            beside.rename(path)
        except OSError as error:  # another process was faster
            raise RunError(f"{path} exists already") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)  # there only if something went wrong
    return Run.open(path)


def _arrays(model: Any) -> dict[str, Any]:
    """Arrays, or their shapes, by path, such as `.head.logits.bias`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(model)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves if hasattr(leaf, "shape")}


def _shape(arrays: dict[str, Any], path: str) -> tuple[Any, ...] | None:
    return (arrays[path].shape, arrays[path].dtype) if path in arrays else None


def _words(arrays: dict[str, Any], path: str) -> str:
    return f"{'×'.join(map(str, arrays[path].shape)) or 'a number'}" if path in arrays else "none"


def _digest(model: Any) -> str:
    digest = hashlib.sha256()
    for path, array in _arrays(model).items():
        digest.update(f"{path} {array.dtype} {array.shape} ".encode() + np.asarray(array).tobytes())
    return digest.hexdigest()
