"""What a parameter is for, said by structure instead of by its name."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree


class Shared(eqx.Module):
    """An array that all heads of a mixer share, while everything around it has one copy a head."""

    value: Array


class Constant(eqx.Module):
    """A value that is part of the program, such as a rate that is not learned: no leaf, so nothing traces or trains it.

    A plain number in a field is a leaf to JAX: `jax.jit` would trace it, and `jax.grad` would give it a gradient.
    """

    value: Any = eqx.field(static=True)


def constant_unless_array(value: Any) -> Any:
    """An array is a parameter and stays one; anything else that can be hashed is a `Constant`."""
    if isinstance(value, np.ndarray):
        return jnp.asarray(value)
    return value if isinstance(value, jax.Array | Constant) or not _hashable(value) else Constant(value)


def value_of(given: Any) -> Any:
    """What a `Constant` holds; an array is its own value."""
    return given.value if isinstance(given, Constant) else given


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


class Fixed(eqx.Module):
    """A module that the outer loop does not train, such as a random but fixed W₀."""

    module: Any

    def constant(self) -> Any:
        """The module as a constant of the outer loop: no gradient flows into its arrays."""
        return jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf) if eqx.is_array(leaf) else leaf, self.module)


def trainable(tree: PyTree) -> PyTree:
    """A tree of booleans: which leaves the outer loop trains."""
    return jax.tree.map(
        lambda node: False if isinstance(node, Fixed) else eqx.is_inexact_array(node),
        tree,
        is_leaf=lambda node: isinstance(node, Fixed),
    )


def kernels(tree: PyTree) -> PyTree:
    """A tree of booleans: which leaves are kernels, for weight decay. They are the arrays called `weight`.

    W₀'s kernels are among them. Biases, scales, shifts, positions and rates have other names. That is Equinox's word
    too, except that its norms also call their scales so: a learner that holds one has it decayed.
    """

    def is_kernel(path, _):
        last = path[-1] if path else None  # a field of a module, a key of a dictionary; the tree may be one leaf
        return "weight" in (getattr(last, "name", None), getattr(last, "key", None))

    return jax.tree_util.tree_map_with_path(is_kernel, tree)
