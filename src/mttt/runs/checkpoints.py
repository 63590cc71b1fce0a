"""Checkpoints by Orbax: arrays under readable names, and the position in the data beside them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

T = TypeVar("T")


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _named_arrays(tree: Any) -> dict[str, jax.Array]:
    """Every array of a tree under its path, such as `.model.head.logits.bias`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_array))
    return {jax.tree_util.keystr(path): jax.random.key_data(a) if _is_key(a) else a for path, a in leaves}


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Orbax remarks on options that we mean, such as reading only."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


class Checkpoints:
    """The checkpoints of one run. Orbax writes each beside and renames it, so a half-written one is never seen."""

    def __init__(self, path: Path, *, write: bool, keep: int = 2):
        """Only the process that trains may `write`: it also clears away what a kill left half-written."""
        with _without_remarks():
            options = ocp.CheckpointManagerOptions(
                max_to_keep=keep if write else None,
                enable_async_checkpointing=False,
                cleanup_tmp_directories=write,
                read_only=not write,
                create=write,
            )
            self._manager = ocp.CheckpointManager(path.absolute(), options=options)

    def latest(self) -> int | None:
        """The step of the newest whole checkpoint."""
        return self._manager.latest_step()

    def save(self, step: int, state: Any, position: dict[str, Any]) -> None:
        items = ocp.args.Composite(
            state=ocp.args.StandardSave(_named_arrays(state)), position=ocp.args.JsonSave(position)
        )
        self._manager.save(step, args=items)
        self._manager.wait_until_finished()

    def restore(self, step: int, like: T) -> tuple[T, dict[str, Any]]:
        """The state and the position saved at `step`; `like` has the state's structure."""
        wanted = _named_arrays(like)
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, wanted)
        items = ocp.args.Composite(state=ocp.args.StandardRestore(abstract), position=ocp.args.JsonRestore())
        restored = self._manager.restore(step, args=items)
        arrays = restored["state"]

        def fill(path, leaf):
            if not eqx.is_array(leaf):
                return leaf
            array = arrays[jax.tree_util.keystr(path)]
            return jax.random.wrap_key_data(array) if _is_key(leaf) else array

        return jax.tree_util.tree_map_with_path(fill, like), restored["position"]

    def close(self) -> None:
        self._manager.close()
