"""What learning leaves behind, and the one step that every inner loop is made of."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from mttt.inner.adjoint import Adjoint
from mttt.inner.batching import Phase, Rows, every_row
from mttt.inner.learner import TokenwiseLearner, answers_of
from mttt.inner.optimizer import Optimizer
from mttt.inner.rates import Rates
from mttt.inner.task import Problem, Task
from mttt.nn.axis import count_of_all, mean_of, total


class Start(eqx.Module):
    """Where learning begins: W₀, and what the first step from it needs.

    A layer makes the start of each head as `start(learner)`.

    To implement: `begin(lesson)` for the loop over all tokens, `first(optimizer, dtype)` for the loop that learns while
    it reads. A start of your own hands W₀ to one that is there.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Doubled(mttt.Start):  # W₀ is twice what the outer loop trains
        ...     learner: eqx.Module
        ...     def _twice(self):
        ...         return mttt.Trained(jax.tree.map(lambda a: 2 * a if eqx.is_inexact_array(a) else a, self.learner))
        ...     def begin(self, lesson):
        ...         return self._twice().begin(lesson)
        ...     def first(self, optimizer, dtype):
        ...         return self._twice().first(optimizer, dtype)
        >>> layer = mttt.TTT(16, 2, learner=mttt.LinearLearner, start=Doubled, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    @abc.abstractmethod
    def first(self, optimizer: Optimizer, dtype: Any) -> "Carry":
        """W₀ as a `Carry`, before any step; `dtype` is that of the inner loop."""

    @abc.abstractmethod
    def begin(self, lesson: "Lesson") -> "Begun":
        """The first carry for a lesson; a start that knows a cheaper first step than the general one has taken it."""


@final
class Carry(Start):
    """What learning leaves behind: W_t in its learner, what the optimizer remembers, and t.

    It is a pytree: it can be kept, saved and shown. Given to `inner_loop` as the start, it continues the learning, on
    the same tokens or on others, with the same optimizer.

    Arguments:
    - learner: the learner with W_t; call it with inputs (m, k)
    - state: of the optimizer, None for `GradientDescent`
    - t: how many steps were taken, a whole number (); None: the learner keeps data and takes no steps

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> key = jax.random.key(0)
        >>> start = mttt.Trained(mttt.LinearLearner(8, key=key))
        >>> parts = mttt.Reconstruction(16, 8, key=key), mttt.GradientDescent(), mttt.FullBatch(2)
        >>> some, others = jax.random.normal(key, (2, 10, 16))
        >>> learn = eqx.filter_jit(mttt.inner_loop)
        >>> carry = learn(start, *parts, some).carry
        >>> more = learn(carry, *parts, others).carry
        >>> int(carry.t), int(more.t), more.learner(jnp.ones((3, 8))).shape
        (2, 4, (3, 8))
    """

    learner: Any
    state: PyTree[Array]
    t: Int[Array, ""] | None  # None: the learner keeps data and takes no steps

    @classmethod
    def at_start(cls, learner: Any, lesson: "Lesson") -> "Carry":
        """t = 0, for a lesson that may have a mask."""
        if lesson.mask is not None and not isinstance(learner, TokenwiseLearner):
            raise ValueError(
                f"{type(learner).__name__} may mix tokens, so padding would change what real tokens get. Make it a "
                "TokenwiseLearner if it answers each token for itself, or give no mask"
            )
        return cls.before(learner, lesson.optimizer)

    @classmethod
    def before(cls, learner: Any, optimizer: Optimizer) -> "Carry":
        """t = 0, of any learner with weights."""
        return cls(learner, optimizer.init(eqx.filter(learner, eqx.is_inexact_array)), jnp.zeros((), int))

    def first(self, optimizer: Optimizer, dtype: Any) -> "Carry":
        return self

    def begin(self, lesson: "Lesson") -> "Begun":
        if self.t is None:
            raise ValueError(
                "this carry keeps data and takes no steps; learn from all tokens at once with start=Memory"
            )
        fresh = jax.eval_shape(lambda: Carry.at_start(self.learner, lesson).state)
        if jax.tree.structure(fresh) != jax.tree.structure(self.state):
            name = type(lesson.optimizer).__name__
            raise ValueError(f"this carry was made with another optimizer than this {name}; go on with the same one")
        return Begun(self, lesson.phases, [])

    @property
    def weights(self) -> PyTree[Array]:
        """W_t."""
        return eqx.filter(self.learner, eqx.is_inexact_array)

    def update(self, optimizer: Optimizer, gradient: PyTree[Array]) -> "Carry":
        """The next one, after a step of the optimizer along the gradient."""
        weights, rest = eqx.partition(self.learner, eqx.is_inexact_array)
        t = jnp.zeros((), int) if self.t is None else self.t
        updated, state = optimizer.step(gradient, self.state, weights, t)
        if _kinds(updated) != _kinds(weights):
            raise ValueError(
                f"{type(optimizer).__name__}.step turned weights of {_kinds(weights)} into {_kinds(updated)}; it has "
                "to return new weights like the old ones, and the new state"
            )
        return Carry(eqx.combine(updated, rest), state, t + 1)


def _kinds(tree: PyTree[Any]) -> str:
    """The shapes and dtypes of all arrays, where they are."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return ", ".join(f"{jax.tree_util.keystr(at)} {jnp.result_type(a)}{jnp.shape(a)}" for at, a in leaves)


class Begun(NamedTuple):
    """A carry, the steps that are left, and the losses before the steps taken (None: there are no losses at all)."""

    carry: Carry
    phases: list[Phase]
    losses: list[Float[Array, " steps"]] | None


class Rated(NamedTuple):
    """What problems are posed of, and how much each row is learned; None: all alike."""

    posed: PyTree[Array]
    eta: Float[Array, " n"] | None


class Lesson(NamedTuple):
    """All that a step has to know besides the carry: the problem of one input, and how to learn it."""

    task: Task
    tokens: Float[Array, "n d"]
    mask: Bool[Array, " n"] | None
    rows: Rated
    pose: Callable[[PyTree[Array]], Problem]
    phases: list[Phase]
    rates: Rates | None
    optimizer: Optimizer
    adjoint: Adjoint
    key: PRNGKeyArray | None
    traced: bool  # whether losses are asked for
    axis: str | None  # of a mesh, if these tokens are one part of an input

    def step_key(self, carry: Carry) -> PRNGKeyArray | None:
        """What a learner draws from in the step after this carry."""
        return None if self.key is None or carry.t is None else jax.random.fold_in(self.key, carry.t)

    def learn(self, carry: Carry, rows: Rows) -> Carry:
        """One step of the inner loop (eq. 2)."""
        return carry.update(self.optimizer, self.gradient(carry, rows))

    def gradient(self, carry: Carry, rows: Rows) -> PyTree[Array]:
        """What the optimizer gets in the step after this carry."""
        key = self.step_key(carry)
        weights, rest = eqx.partition(carry.learner, eqx.is_inexact_array)
        count = count_of_all(rows.real, self.axis)

        def gradient(content: tuple[Rated, Any]) -> PyTree[Array]:
            def part(weights: PyTree[Array]) -> Float[Array, ""]:
                return self.share(self._losses(eqx.combine(weights, rest), content, key, content[0].eta), count)

            return jax.grad(part)(weights)

        return self._sum(gradient, rows, carry.learner)

    def step(self, carry: Carry, rows: Rows) -> tuple[Carry, Float[Array, ""] | None]:
        """The next carry, and the loss before the step if losses are asked for."""
        return self.learn(carry, rows), self.loss(carry.learner) if self.traced else None

    def loss(self, learner: Any) -> Float[Array, ""]:
        """ℓ(W): the mean over all tokens."""
        rows = every_row(self.rows, self.mask)
        count = count_of_all(rows.real, self.axis)
        part = lambda content: mean_of(self._losses(learner, content, None, None), count)  # noqa: E731
        return self._sum(part, rows, learner, alone=True)

    def share(self, total: Float[Array, "*shape"], count: int | Int[Array, ""]) -> Float[Array, "*shape"]:
        """What a sum over some rows is in a step on `count` of them: a part of their mean, unless rates say else."""
        return mean_of(total, count) if self.rates is None else self.rates.whole(total, count)

    def _sum(self, function: Callable[..., Any], rows: Rows, learner: Any, *, alone: bool | None = None) -> Any:
        alone = sum(phase.steps for phase in self.phases) <= 1 if alone is None else alone
        content, n = (rows.content, rows.mask), self.tokens.shape[0]
        return total(self.adjoint.sum(function, content, learner, tokens=n, alone=alone), self.axis)

    def _losses(
        self, learner: Any, content: tuple[Rated, Any], key: PRNGKeyArray | None, eta: Float[Array, " n"] | None
    ) -> Float[Array, ""]:
        """The sum of the losses of some rows, each times its η."""
        (rows, _), mask = content
        posed = self.pose(rows)
        losses = posed.losses_of(answers_of(learner, posed.inputs, key=key))
        losses = losses if eta is None else losses * eta.astype(losses.dtype)
        return jnp.sum(losses if mask is None else jnp.where(mask, losses, 0))
