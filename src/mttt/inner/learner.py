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
    """The inner model f(·; W): any `eqx.Module` that answers each of n tokens of width k with k numbers.

    This is a structural type: nothing has to inherit from it. The inexact arrays of the module are W. It may mix
    tokens, hold a norm, be a transformer. Learners that can promise more are a `TokenwiseLearner` or a
    `LayeredLearner`.

    To implement: `__call__(inputs, *, key=None)`, from inputs (n, k) to floats (n, k). A layer makes the learner of
    each head as `learner(width, key=key)`.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Tanh(eqx.Module):
        ...     weight: jax.Array
        ...     def __init__(self, width, *, key):
        ...         self.weight = jax.random.normal(key, (width, width)) / width
        ...     def __call__(self, inputs, *, key=None):
        ...         return jnp.tanh(inputs @ self.weight)
        >>> layer = mttt.TTT(16, 2, learner=Tanh, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    def __call__(self, inputs: Float[Array, "n k"], /, *, key: PRNGKeyArray | None = None) -> Float[Array, "n k"]:
        """Answer inputs (n, k) with floats (n, k).

        `key` is given in the steps of the inner loop, if the layer was called with one: for dropout. Without a key, and
        so in every answer that leaves the inner loop, a learner is deterministic.
        """
        ...


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
    """A learner that answers each token for itself and draws nothing: any few tokens may be shown at a time.

    So it can learn in blocks of tokens, from inputs with a mask, and from sequences (`CausalTTT`).

    To implement: `__call__(inputs, *, key=None)`, and the static field `expansion`, which is how many times wider than
    a token the widest activation is. It only decides how many tokens a block has.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Tanh(mttt.TokenwiseLearner):
        ...     weight: jax.Array
        ...     expansion: float = eqx.field(static=True)
        ...     def __init__(self, width, *, key):
        ...         self.weight, self.expansion = jax.random.normal(key, (width, width)) / width, 1.0
        ...     def __call__(self, inputs, *, key=None):
        ...         return jnp.tanh(inputs @ self.weight)
        >>> layer = mttt.TTT(16, 2, learner=Tanh, key=jax.random.key(0))
        >>> x = jnp.ones((10, 16))
        >>> mixed = eqx.filter_jit(layer)(x, mask=jnp.arange(10) < 6)  # the last four tokens are padding
        >>> float(jnp.max(jnp.abs(mixed.tokens[6:])))
        0.0
    """

    expansion: eqx.AbstractVar[float]

    @abc.abstractmethod
    def __call__(self, inputs: Float[Array, "n k"], *, key: PRNGKeyArray | None = None) -> Float[Array, "n k"]:
        """Answer each row of inputs (n, k) with k floats. `key` is there because every learner takes one."""


class NonParametric(eqx.Module):
    """A learner without W: it learns by keeping its training data, so there is nothing to descend on.

    It needs `start=Memory`, and a task that has labels. No steps are taken.

    To implement: `fit(inputs, labels, mask)`, which returns a `Learner`.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> def nearest(points, labels, mask, inputs, *, key=None):
        ...     alike = inputs @ points.T
        ...     return labels[jnp.argmax(alike if mask is None else jnp.where(mask[None], alike, -jnp.inf), axis=1)]
        >>> class Nearest(mttt.NonParametric):
        ...     def __init__(self, width, *, key):
        ...         pass
        ...     def fit(self, inputs, labels, mask):
        ...         return eqx.Partial(nearest, inputs, labels, mask)
        >>> layer = mttt.TTT(16, 2, learner=Nearest, start=mttt.Memory, task=mttt.KeyValue, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    @abc.abstractmethod
    def fit(self, inputs: Float[Array, "n k"], labels: Float[Array, "n k"], mask: Bool[Array, " n"] | None) -> Learner:
        """The learner that has seen inputs (n, k) with labels (n, k). Rows where mask (n,) is False are not data."""
