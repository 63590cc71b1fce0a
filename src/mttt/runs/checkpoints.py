"""Checkpoints: arrays under readable names, by Orbax, and a seal with the position in the data."""

import logging
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

from mttt.devices import ALONE, Company, done_by_first
from mttt.runs.errors import DamagedCheckpoint, RunError
from mttt.runs.seal import Damaged, is_sealed, position_of, seal, sealed

T = TypeVar("T")

_STEP = re.compile(r"0|[1-9][0-9]{0,17}")
_LEFT_OVER = re.compile(r"writing-[0-9]+|deleting-[0-9]+")


@dataclass(frozen=True)
class Kept(Generic[T]):
    """What a checkpoint holds."""

    step: int
    state: T
    position: dict[str, Any]


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _named_arrays(tree: Any) -> dict[str, jax.Array]:
    """Every array of a tree under its path, such as `.model.head.logits.bias`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_array))
    return {jax.tree_util.keystr(path): jax.random.key_data(a) if _is_key(a) else a for path, a in leaves}


def _forms(arrays: dict[str, jax.Array]) -> dict[str, str]:
    return {name: f"{array.dtype}{list(array.shape)}" for name, array in arrays.items()}


@contextmanager
def _quietly() -> Iterator[None]:
    """Where one write fails, Orbax and TensorStore also print tracebacks of each of their threads.

    The threads outlive the error that they end in, so after one it stays quiet.
    """
    logger, others = logging.getLogger("absl"), sys.unraisablehook
    level = logger.level

    def hook(unraisable: Any) -> None:
        if str(unraisable.exc_value) != "Event loop is closed":
            others(unraisable)

    logger.setLevel(logging.CRITICAL + 1)
    sys.unraisablehook = hook
    yield
    logger.setLevel(level)
    sys.unraisablehook = others


def steps_in(folder: Path) -> list[int]:
    """The steps of the checkpoints in a folder, whole or not, newest first."""
    try:
        return sorted((int(name) for name in os.listdir(folder) if _STEP.fullmatch(name)), reverse=True)
    except FileNotFoundError:
        return []


class Checkpoints:
    """The checkpoints of one run. Each is written beside and renamed, so a half-written one is never seen."""

    def __init__(self, folder: Path, run: str, *, write: bool, keep: int = 2, company: Company = ALONE):
        """`run` is the run's id. Only who trains it may `write`, and clears away what a kill left.

        In company, all processes write their parts of the arrays. All else is done by the first.
        """
        self._folder, self._run, self._write, self._keep, self._company = folder, run, write, keep, company
        options = ocp.options.MultiprocessingOptions()
        if company.count < jax.process_count():  # one process for itself
            number = jax.process_index()
            options = ocp.options.MultiprocessingOptions(
                primary_host=number, active_processes={number}, barrier_sync_key_prefix=f"process-{number}"
            )
        self._orbax = ocp.Checkpointer(
            ocp.StandardCheckpointHandler(multiprocessing_options=options), multiprocessing_options=options
        )
        if write:
            done_by_first(company, self._clear)

    def close(self) -> None:
        self._orbax.close()

    def latest(self) -> int | None:
        """The step of the newest checkpoint."""
        return next(iter(steps_in(self._folder)), None)

    def newest(self, like: T) -> Kept[T] | None:
        """The newest that is whole; `like` has the state's structure. None if there is no checkpoint at all.

        A warning tells which newer ones are damaged. The process that writes sets them aside; readers leave them.
        """
        forms = _forms(_named_arrays(like))
        while found := done_by_first(self._company, lambda: self._find_whole(forms)):
            try:
                return self._load(int(found), like)
            except Exception:
                if self._write or os.path.lexists(self._at(int(found))):
                    raise
                # The process that trains the run has deleted it meanwhile.
        return None

    def _find_whole(self, forms: dict[str, str]) -> str:
        """The step of the newest that is whole, or nothing."""
        damaged: dict[int, str] = {}
        while left := [step for step in steps_in(self._folder) if step not in damaged]:
            try:
                sealed(self._at(left[0]), self._run, left[0], forms)
            except Damaged as error:
                if os.path.lexists(self._at(left[0])):
                    damaged[left[0]] = str(error)
                continue
            for other, why in damaged.items():
                aside = self._set_aside(other) if self._write else "left where it is"
                used = f"the checkpoint of step {left[0]} is used"
                message = f"{self._at(other)} is damaged (it {why}) and {aside}; {used}"
                warnings.warn(message, DamagedCheckpoint, stacklevel=5)
            return str(left[0])
        if damaged:
            reasons = "; ".join(f"that of step {step} {why}" for step, why in damaged.items())
            raise RunError(
                f"no checkpoint in {self._folder} is whole ({reasons}). Nothing was changed: bring one back from a "
                "copy, or train anew in another directory"
            )
        return ""

    def save(self, step: int, state: Any, position: dict[str, Any]) -> None:
        """Keep a state and where the data are; the oldest checkpoints go. An OSError says why that failed."""
        folder, beside, arrays = self._at(step), self._folder / f"writing-{step}", _named_arrays(state)

        def begin() -> None:
            if os.path.lexists(folder):
                raise RunError(f"{folder} is there already, and this process did not write it; move it away")
            beside.mkdir()

        def end() -> None:
            seal(beside, self._run, step, position, _forms(arrays))
            beside.rename(folder)

        try:
            done_by_first(self._company, begin)
            with _quietly():
                self._orbax.save((beside / "state").absolute(), args=ocp.args.StandardSave(arrays))
            done_by_first(self._company, end)
        except (ValueError, OSError) as error:
            # Half a checkpoint may be what fills the disk. Threads may still write: what they leave goes next time.
            shutil.rmtree(beside, ignore_errors=True)
            if (reason := _storage_error(error)) is None:
                raise
            raise reason from error
        done_by_first(self._company, self._delete_old)

    def _delete_old(self) -> None:
        ours = [step for step in steps_in(self._folder) if is_sealed(self._at(step))]
        for old in ours[self._keep :]:
            # Renamed first: whoever reads it now sees that it is gone, never half of it.
            shutil.rmtree(self._at(old).rename(self._folder / f"deleting-{old}"))

    def restore(self, step: int, like: T) -> Kept[T]:
        """The checkpoint of a step, if it is what was saved; `like` has the state's structure."""
        sealed(self._at(step), self._run, step, _forms(_named_arrays(like)))
        return self._load(step, like)

    def _load(self, step: int, like: T) -> Kept[T]:
        """One that was found to be whole, with each array where that of `like` is."""
        wanted, position = _named_arrays(like), position_of(self._at(step))
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, wanted)
        args = ocp.args.StandardRestore(abstract)
        arrays = self._orbax.restore((self._at(step) / "state").absolute(), args=args)

        def fill(path, leaf):
            if not eqx.is_array(leaf):
                return leaf
            array = arrays[jax.tree_util.keystr(path)]
            return jax.random.wrap_key_data(array) if _is_key(leaf) else array

        return Kept(step, jax.tree_util.tree_map_with_path(fill, like), position)

    def _at(self, step: int) -> Path:
        return self._folder / str(step)

    def _clear(self) -> None:
        self._folder.mkdir(exist_ok=True)
        for name in os.listdir(self._folder):
            if _LEFT_OVER.fullmatch(name):
                shutil.rmtree(self._folder / name)

    def _set_aside(self, step: int) -> str:
        """Under a name that is no step; what happened, in words."""
        names = (f"damaged-{step}{suffix}" for suffix in ("", *(f"-{number}" for number in range(2, 10**6))))
        name = next(name for name in names if not os.path.lexists(self._folder / name))
        self._at(step).rename(self._folder / name)
        return f"was renamed to {name}"


def _storage_error(error: Exception) -> OSError | None:
    """The error of the system that TensorStore's error tells of."""
    found = re.search(r"os_error_code='(\d+)'", str(error))
    return OSError(int(found[1]), os.strerror(int(found[1]))) if found else None
