"""What a learner is, and what it may promise.

A learner is the paper's f(·; W): any `eqx.Module` that maps (n, k) to (n, k). Its inexact arrays are W. It may mix
tokens, hold a norm, be a transformer. What the library may rely on beyond that is a type which the learner declares.
"""

import abc
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray


@runtime_checkable
class Learner(Protocol):
    """Structural type of a learner; nothing has to inherit from it.

    `key` is given in the steps of the inner loop, if the layer was called with one: for dropout. Without a key, and so
    in every answer that leaves the inner loop, a learner is deterministic.
    """

    def __call__(self, inputs: Float[Array, "n k"], /, *, key: PRNGKeyArray | None = None) -> Float[Array, "n k"]: ...


class WrongAnswers(ValueError):
    """A learner answered with something else than one row of floats for each row."""


def answers_of(
    learner: Learner, inputs: Float[Array, "n k"], *, key: PRNGKeyArray | None = None
) -> Float[Array, "n k"]:
    """What a learner answers, if it is what a learner has to answer. Anything else could still be computed with."""
    answers = learner(inputs, key=key)
    name, expected = type(learner).__name__, f"expected floats of shape {inputs.shape}"
    if not isinstance(answers, jax.Array | np.ndarray):
        raise WrongAnswers(f"the learner {name} answers with a {type(answers).__name__}; {expected}")
    if answers.shape != inputs.shape:
        raise WrongAnswers(
            f"the learner {name} maps {inputs.shape} to {answers.shape}; {expected}: a learner answers each of n "
            f"tokens of width k={inputs.shape[-1]} with k numbers"
        )
    if not jnp.issubdtype(answers.dtype, jnp.floating):
        raise WrongAnswers(f"the learner {name} answers with numbers of dtype {answers.dtype}; {expected}")
    return jnp.asarray(answers)


class TokenwiseLearner(eqx.Module):
    """The promise to answer each token for itself and to draw nothing: any few tokens may be shown at a time.

    So the learner can learn in token blocks, and from inputs with a mask. `expansion` is how many times wider than a
    token its widest activation is. It only decides how many tokens a block has.
    """

    expansion: eqx.AbstractVar[float]

    @abc.abstractmethod
    def __call__(self, inputs: Float[Array, "n k"], *, key: PRNGKeyArray | None = None) -> Float[Array, "n k"]:
        """Answer each row."""


class NonParametric(eqx.Module):
    """A learner without W: it learns by keeping its training data, so there is nothing to descend on."""

    @abc.abstractmethod
    def fit(self, inputs: Float[Array, "n k"], labels: Float[Array, "n k"], mask: Bool[Array, " n"] | None) -> Learner:
        """The learner that has seen the data. Rows where the mask is False are not data."""
