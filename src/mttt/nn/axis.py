"""The rows of a batch, and the tokens of one input, on several devices, each with its part of them.

The mesh comes from its context (`jax.set_mesh`), as JAX wants it. Where it has an axis called "data", rows are split
over that axis; where it has one called "sequence", tokens are.
"""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, PartitionSpec
from jaxtyping import Array, Float, Int

T = TypeVar("T")

DATA = "data"
SEQUENCE = "sequence"


def data_parts() -> int:
    """How many parts the rows of a batch have here."""
    return _parts(DATA)


def sequence_parts() -> int:
    """How many parts the tokens of an input have here. Inside of one part they are no longer split."""
    return _parts(SEQUENCE)


def _parts(axis: str) -> int:
    mesh = jax.sharding.get_abstract_mesh()
    if axis not in mesh.axis_names or mesh.axis_types[mesh.axis_names.index(axis)] == AxisType.Manual:
        return 1
    return mesh.shape[axis]


def split_groups(tree: Any) -> Any:
    """Tell the compiler to keep each group of rows, or what was made of it, where the rows are."""
    if data_parts() == 1:
        return tree
    free = PartitionSpec.UNCONSTRAINED
    split = lambda leaf: jax.lax.with_sharding_constraint(leaf, PartitionSpec(DATA, *[free] * (leaf.ndim - 1)))  # noqa: E731
    return jax.tree.map(split, tree)


def split_tokens(tokens: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Tell the compiler to keep each part where it belongs."""
    if sequence_parts() == 1:
        return tokens
    return jax.lax.with_sharding_constraint(tokens, PartitionSpec(SEQUENCE, None))


def total(tree: T, axis: str | None) -> T:
    """The sum over all parts; without an axis there is one part."""
    return tree if axis is None else jax.lax.psum(tree, axis)


def count_of_all(count: int | Int[Array, ""], axis: str | None) -> int | Int[Array, ""]:
    """How many rows all parts have together."""
    if axis is None:
        return count
    return count * jax.lax.axis_size(axis) if isinstance(count, int) else jax.lax.psum(count, axis)


def mean_of(total: Float[Array, "*shape"], count: int | Int[Array, ""]) -> Float[Array, "*shape"]:
    """total / count. Where the count is known only when the program runs, it may be 0, and the mean is 0 then."""
    return total / (count if isinstance(count, int) else jnp.maximum(count, 1).astype(total.dtype))


def gathered(parameters: T) -> T:
    """Tell the compiler to bring parameters that are split over devices to where the rows are, not the rows to them."""
    if data_parts() == 1:
        return parameters
    return jax.tree.map(lambda leaf: jax.lax.with_sharding_constraint(leaf, PartitionSpec()), parameters)
