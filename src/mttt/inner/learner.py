"""What a learner is, and what it may promise.

A learner is the paper's f(·; W): any `eqx.Module` that maps (n, k) to (n, k). Its inexact arrays are W. It may mix
tokens, hold a norm, be a transformer. What the library may rely on beyond that is a type which the learner declares.
"""

import abc
from typing import Protocol, runtime_checkable

import equinox as eqx
from jaxtyping import Array, Bool, Float, PRNGKeyArray


@runtime_checkable
class Learner(Protocol):
    """Structural type of a learner; nothing has to inherit from it.

    `key` is given in the steps of the inner loop, if the layer was called with one: for dropout. Without a key, and so
    in every answer that leaves the inner loop, a learner is deterministic.
    """

    def __call__(self, inputs: Float[Array, "n k"], /, *, key: PRNGKeyArray | None = None) -> Float[Array, "n k"]: ...


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
