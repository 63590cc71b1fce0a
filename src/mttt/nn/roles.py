"""What a parameter is for, said by structure instead of by its name."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, PyTree


class Shared(eqx.Module):
    """An array that all heads of a mixer share, while everything around it has one copy a head."""

    value: Array


class Frozen(eqx.Module):
    """A module that the outer loop does not train, such as a random but fixed W₀."""

    module: Any

    def thaw(self) -> Any:
        """The module as a constant of the outer loop: no gradient flows into its arrays."""
        return jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf) if eqx.is_array(leaf) else leaf, self.module)


def trainable(tree: PyTree) -> PyTree:
    """A tree of booleans: which leaves the outer loop trains."""
    return jax.tree.map(
        lambda node: False if isinstance(node, Frozen) else eqx.is_inexact_array(node),
        tree,
        is_leaf=lambda node: isinstance(node, Frozen),
    )
