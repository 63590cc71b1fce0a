"""Drawing a language model as GPT-2 does (Radford et al., 2019; nanoGPT), in the place of Xavier's initialisation."""

from typing import Any, TypeVar

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from mttt.models.lm import LM
from mttt.nn import kernels

SPREAD = 0.02
T = TypeVar("T")


def draw_small(model: LM, *, key: PRNGKeyArray) -> LM:
    """All kernels from N(0, 0.02²); those that end a half of a block are smaller by √(2·depth), as many as add up.

    Such are the kernels of the parts called `merge` and `down`. For mixers whose inner loops have kernels of their own
    (a learner's W₀), those are left as they were drawn.
    """
    chosen = kernels(eqx.filter(model, eqx.is_array))
    leaves, structure = jax.tree_util.tree_flatten_with_path(model)
    marks = jax.tree.leaves(eqx.combine(chosen, jax.tree.map(lambda _: False, model)))
    keys = jax.random.split(key, len(leaves))
    drawn = [
        _draw(path, leaf, one, model.depth) if mark else leaf
        for (path, leaf), mark, one in zip(leaves, marks, keys, strict=True)
    ]
    return jax.tree.unflatten(structure, drawn)


def _draw(path: tuple[Any, ...], leaf: Any, key: PRNGKeyArray, depth: int) -> Any:
    names = [getattr(part, "name", "") for part in path]
    if "start" in names or "learner" in names:
        return leaf
    ends = "merge" in names or "down" in names
    return jax.random.normal(key, leaf.shape, leaf.dtype) * (SPREAD / (2 * depth) ** 0.5 if ends else SPREAD)
