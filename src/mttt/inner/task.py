"""Tasks: what the inner loop learns."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree


class Problem(eqx.Module):
    """The learning problem that a task poses on one input: its n tokens as a data set.

    Arguments:
    - inputs: what the learner sees of each token, floats (n, k)
    - targets: what its answers are compared with: an array or a pytree of them, each with one row a token
    - losses: `losses(answers, targets)`, from m of the rows to the loss of each, (m,). The inner loop descends on the
      mean over the tokens. A function may close over arrays; an `eqx.Module` can also be undone (`Undo`)
    - labels: what a learner without weights shall remember of each token, (n, k). None: there is no such thing
    - slope: `slope(targets)`, the gradient of each row's loss at the answer 0, (m, k), for tasks that know it more
      cheaply than automatic differentiation finds it. A start at W₀ = 0 uses it
    - weights: multiply the losses of the rows, (n,). The mean still divides by the number of tokens. None: all are 1

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> inputs, targets = jnp.ones((10, 8)), jnp.zeros((10, 8))
        >>> squared = lambda answers, targets: 0.5 * jnp.sum((answers - targets) ** 2, axis=1)
        >>> problem = mttt.Problem(inputs, targets, squared, weights=jnp.arange(10.0))
        >>> problem.losses_of(inputs)[:3].tolist()
        [0.0, 4.0, 8.0]
    """

    inputs: Float[Array, "n k"]
    targets: PyTree[Array]
    losses: Callable[[Float[Array, "m k"], PyTree[Array]], Float[Array, " m"]]
    labels: Float[Array, "n k"] | None = None
    slope: Callable[[PyTree[Array]], Float[Array, "m k"]] | None = None
    weights: Float[Array, " n"] | None = None

    def __check_init__(self):
        n, shape = len(self.inputs), self.inputs.shape
        if len(shape) != 2 or not jnp.issubdtype(self.inputs.dtype, jnp.floating):
            raise ValueError(
                f"a problem's inputs have shape {shape} and dtype {self.inputs.dtype}; expected floats, (n, k)"
            )
        rows = {"targets": self.targets, "labels": self.labels, "weights": self.weights}
        for name, leaf in ((name, leaf) for name, tree in rows.items() for leaf in jax.tree.leaves(tree)):
            if jnp.shape(leaf)[:1] != (n,):
                raise ValueError(
                    f"a problem's {name} hold an array of shape {jnp.shape(leaf)}; expected {n} rows, as inputs"
                )

    def losses_of(self, answers: Float[Array, "n k"]) -> Float[Array, " n"]:
        """The weighted loss of each row, (n,), of answers (n, k)."""
        losses = self.losses(answers, self.targets)
        if jnp.shape(losses) != answers.shape[:1]:
            raise ValueError(
                f"the task's losses have shape {jnp.shape(losses)} for {answers.shape[0]} rows; return one loss for "
                "each row (the inner loop takes the mean over tokens itself)"
            )
        return losses if self.weights is None else losses * self.weights

    def slope_at_zero(self) -> Float[Array, "n k"]:
        """The gradient of each row's weighted loss at the answer 0, (n, k)."""
        if self.slope is None:
            return jax.grad(lambda answers: jnp.sum(self.losses_of(answers)))(jnp.zeros_like(self.inputs))
        slope = self.slope(self.targets)
        return slope if self.weights is None else slope * self.weights[:, None]


class Posing(NamedTuple):
    """A task on one input: rows to be split into batches, and how some of these rows become a problem."""

    rows: PyTree[Array]
    pose: Callable[[PyTree[Array]], Problem]


class Compared(NamedTuple):
    """What each token's answer should have been, and what the answer says, in the same space: `name` is which."""

    name: str
    targets: Float[Array, "n e"]
    answers: Float[Array, "n e"]


class Task(eqx.Module):
    """What the inner loop learns: poses a problem on the tokens of one input, for one head.

    A task of this type sees all tokens at once, so it takes no mask. One that poses each token's problem from that
    token alone is a `TokenwiseTask`. Its arrays are trained by the outer loop. A layer makes the task of each head as
    `task(dim, width, key=key)`.

    To implement: `__call__(tokens)`, from (n, d) to a `Problem` of n rows, k wide, and `report(losses)`. `queries` and
    `outputs` may be overridden: what the learner is asked in the end, and what becomes of its answers.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Next(mttt.Task):  # predict a view of the token after each
        ...     view: mttt.nn.Dense
        ...     def __init__(self, dim, width, *, key):
        ...         self.view = mttt.nn.Dense(dim, width, key=key)
        ...     def __call__(self, tokens):
        ...         rows = self.view(tokens)
        ...         return mttt.Problem(rows, jnp.roll(rows, -1, axis=0), mttt.SquaredLoss())
        ...     def report(self, losses):
        ...         return losses
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, task=Next, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16)), trace=True).losses.shape
        (2, 2)
    """

    @abc.abstractmethod
    def __call__(self, tokens: Float[Array, "n d"]) -> Problem:
        """The problem for tokens (n, d)."""

    @abc.abstractmethod
    def report(self, losses: Float[Array, "*t"]) -> Float[Array, "*t"]:
        """The inner losses, of any shape, in the unit in which people should see them."""

    def queries(self, view: Float[Array, "n k"]) -> Float[Array, "n k"]:
        """What the learner is asked in the end, (n, k), given the main-task view ψ of the tokens (n, k)."""
        return view

    def outputs(self, answers: Float[Array, "n k"], queries: Float[Array, "n k"]) -> Float[Array, "n k"]:
        """What becomes of the answers (n, k) to the queries (n, k) when they leave the inner loop, (n, k)."""
        return answers

    def compare(self, tokens: Float[Array, "n d"], answers: Float[Array, "n k"]) -> Compared | None:
        """Targets and answers as people can compare them, of all tokens; None for a task that has no such view."""
        return None

    def posing(self, tokens: Float[Array, "n d"], *, keep: bool, mask: Bool[Array, " n"] | None) -> Posing:
        """The problem of all tokens, to be taken apart. `keep` asks to pose it once, however often it is looked at."""
        if mask is not None:
            raise ValueError(
                f"{type(self).__name__} sees all tokens at once, so padding would change the problem of the real ones. "
                "Make it a TokenwiseTask if it poses each token's problem from that token alone, or give no mask"
            )
        return self._posed(tokens)

    def problem(self, tokens: Float[Array, "n d"]) -> Problem:
        """What the task poses, if it is a problem with one row a token."""
        problem = self(tokens)
        came = f"{len(problem.inputs)} rows" if isinstance(problem, Problem) else f"a {type(problem).__name__}"
        if came != f"{len(tokens)} rows":
            raise ValueError(
                f"{type(self).__name__} made {came} of {len(tokens)} tokens; expected a Problem, one row a token"
            )
        return problem

    def _posed(self, tokens: Float[Array, "n d"]) -> Posing:
        problem = self.problem(tokens)

        def pose(rows: Any) -> Problem:
            inputs, targets, weights = rows
            return Problem(inputs, targets, problem.losses, slope=problem.slope, weights=weights)

        return Posing((problem.inputs, problem.targets, problem.weights), pose)


class TokenwiseTask(Task):
    """A task that poses each token's problem from that token alone.

    The problem of some tokens is then those rows of the problem of all. So it may be posed a few tokens at a time,
    where they are looked at; inputs may have a mask; and sequences can be learned while they are read (`CausalTTT`).

    To implement: `__call__(tokens)` and `report(losses)`, as for `Task`.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Autoencoding(mttt.TokenwiseTask):  # reconstruct a view of the token from itself
        ...     view: mttt.nn.Dense
        ...     def __init__(self, dim, width, *, key):
        ...         self.view = mttt.nn.Dense(dim, width, key=key)
        ...     def __call__(self, tokens):
        ...         return mttt.Problem(self.view(tokens), self.view(tokens), mttt.SquaredLoss())
        ...     def report(self, losses):
        ...         return losses
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, task=Autoencoding, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16)), mask=jnp.arange(10) < 6).tokens.shape
        (10, 16)
    """

    def posing(self, tokens: Float[Array, "n d"], *, keep: bool, mask: Bool[Array, " n"] | None) -> Posing:
        # Posed where it is looked at, the tokens are the rows.
        return self._posed(tokens) if keep else Posing(tokens, self.problem)
