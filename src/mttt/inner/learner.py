"""What a learner is, and the three ways in which one can start.

A learner is the paper's f(·; W): any `eqx.Module` that maps (n, k) to (n, k). Its inexact arrays are W. Where the
outer loop trains W₀, the model simply stores the learner; a fixed W₀ is a `Frozen` learner; W₀ = 0 is `Zeros`.
"""

import abc
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree


@runtime_checkable
class Learner(Protocol):
    """Structural type of a learner; nothing has to inherit from it."""

    def __call__(self, inputs: Float[Array, "n k"], /) -> Float[Array, "n k"]: ...


class Zeros(eqx.Module):
    """A learner that starts at W₀ = 0, which is known when the program is built, and answers 0 there.

    The first step then needs no forward pass, only the gradient of W for a given cotangent of the answers. That is why
    MTTT-Linear costs what linear attention costs.
    """

    structure: Any  # the learner without its arrays
    shapes: tuple = eqx.field(static=True)

    def __init__(self, learner: eqx.Module):
        leaves, treedef = jax.tree.flatten(eqx.filter(learner, eqx.is_inexact_array))
        self.shapes = (treedef, tuple(leaf.shape for leaf in leaves))
        self.structure = eqx.filter(learner, eqx.is_inexact_array, inverse=True)

    def weights(self, dtype: jnp.dtype) -> PyTree[Array]:
        """W₀, written out."""
        treedef, shapes = self.shapes
        return jax.tree.unflatten(treedef, [jnp.zeros(shape, dtype) for shape in shapes])

    def materialise(self, dtype: jnp.dtype) -> Any:
        """The learner with W₀ written out."""
        return eqx.combine(self.weights(dtype), self.structure)

    def pull_back(self, inputs: Float[Array, "n k"], cotangent: Float[Array, "n k"]) -> PyTree[Array]:
        """The gradient of W at W = 0, given the cotangent of the answers. The answers themselves are never used."""
        with jax.ensure_compile_time_eval():
            answers = self.materialise(inputs.dtype)(jnp.ones((2, inputs.shape[1]), inputs.dtype))
        if not isinstance(answers, Tracer) and np.any(np.asarray(answers)):
            raise ValueError(
                f"Zeros needs a learner that answers 0 when W is 0; {type(self.structure).__name__} does not. "
                "Use the learner itself, or Frozen(learner) for a W₀ that stays fixed."
            )
        _, pull = jax.vjp(lambda weights: eqx.combine(weights, self.structure)(inputs), self.weights(inputs.dtype))
        return pull(cotangent)[0]


class Blockwise(eqx.Module):
    """A learner that answers each token for itself.

    To inherit from it is a promise: the inner loop may show the learner any few tokens at a time. What it makes on the
    way to its answers is then made for a block of tokens at a time, and made again in the outer backward pass instead
    of being kept. Subclasses promise it too. `expansion` is how many times wider than a token the widest of that is; it
    only decides how many tokens a block has. It is asked of one head and of stacked heads: arrays may have an axis of
    heads in front.
    """

    @property
    def expansion(self) -> float:
        return 4.0


class NonParametric(eqx.Module):
    """A learner without W: it learns by keeping its training data, so there is nothing to descend on."""

    @abc.abstractmethod
    def fit(self, inputs: Float[Array, "n k"], labels: Float[Array, "n k"]) -> Learner:
        """The learner that has seen the data."""
