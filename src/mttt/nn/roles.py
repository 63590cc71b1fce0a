"""What a parameter is for, said by structure instead of by its name."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree


class Shared(eqx.Module):
    """An array that all heads of a mixer share, while everything around it has one copy a head.

    For a task or learner of your own: the outer loop trains one array, whose gradient is the sum over the heads.
    Without it, a layer gives each head its own.

    Arguments:
    - value: the array

    Example:

        >>> import jax, mttt
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, key=jax.random.key(0))
        >>> layer.task.g.weight.shape, layer.task.g.bias.value.shape  # a kernel a head, and one bias for both
        ((2, 8, 16), (16,))
    """

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
    """A module that the outer loop does not train, such as a random but fixed W₀.

    `trainable` leaves its arrays out. Whoever holds it computes with `constant()`.

    Arguments:
    - module: any module

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> fixed = mttt.Fixed(mttt.LinearLearner(4, key=jax.random.key(0)))
        >>> gradient = jax.grad(lambda fixed: jnp.sum(fixed.constant()(jnp.ones((3, 4)))))(fixed)
        >>> float(jnp.max(jnp.abs(gradient.module.weight)))
        0.0
    """

    module: Any

    def constant(self) -> Any:
        """The module as a constant of the outer loop: no gradient flows into its arrays."""
        return jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf) if eqx.is_array(leaf) else leaf, self.module)


def trainable(tree: PyTree) -> PyTree:
    """Which leaves the outer loop trains: the inexact arrays that are not in a `Fixed` module.

    Arguments:
    - tree: a model, or any pytree

    Returns: a tree of booleans like it, with one False for each `Fixed` module: the filter for `eqx.partition`.

    Example:

        >>> import equinox as eqx, jax, mttt
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, start=mttt.Frozen, key=jax.random.key(0))
        >>> trained, rest = eqx.partition(layer, mttt.trainable(layer))
        >>> trained.start.learner.module.up.weight is None, trained.psi.weight.shape
        (True, (2, 16, 8))
    """
    return jax.tree.map(
        lambda node: False if isinstance(node, Fixed) else eqx.is_inexact_array(node),
        tree,
        is_leaf=lambda node: isinstance(node, Fixed),
    )


def kernels(tree: PyTree) -> PyTree:
    """Which leaves are kernels, for weight decay: the arrays called `weight`.

    W₀'s kernels are among them. Biases, scales, shifts, positions and rates have other names. That is Equinox's word
    too, except that its norms also call their scales so: a learner that holds one has it decayed.

    Arguments:
    - tree: a model, or any pytree

    Returns: a tree of booleans like it: the mask for Optax, as in `optax.adamw(1e-3, mask=mttt.kernels)`.

    Example:

        >>> import jax, mttt
        >>> marks = mttt.kernels(mttt.AffineLearner(8, key=jax.random.key(0)))
        >>> marks.weight, marks.bias
        (True, False)
    """

    def is_kernel(path, _):
        last = path[-1] if path else None  # a field of a module, a key of a dictionary; the tree may be one leaf
        return "weight" in (getattr(last, "name", None), getattr(last, "key", None))

    return jax.tree_util.tree_map_with_path(is_kernel, tree)
