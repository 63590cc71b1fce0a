"""The inner loop, online: tokens are learned and answered as they are read."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from mttt.inner import substitution, wy
from mttt.inner.adjoint import Adjoint, Recompute
from mttt.inner.at_once import AtOnce
from mttt.inner.carry import Carry
from mttt.inner.chunks import Chunk, Chunking
from mttt.inner.dual import Dual
from mttt.inner.forms import Course, Form
from mttt.inner.keyvalue import has_straight_slope
from mttt.inner.layered import LayeredLearner
from mttt.inner.learner import TokenwiseLearner
from mttt.inner.linear import LinearLearner
from mttt.inner.optimizer import GradientDescent, Optimizer
from mttt.inner.rates import Rates
from mttt.inner.recurrent import Recurrent
from mttt.inner.substitution import Substitution
from mttt.inner.task import TokenwiseTask
from mttt.inner.wy import WY


class Read(NamedTuple):
    """What `online_loop` returns.

    Fields:
    - answers: to all queries, (n, k)
    - carry: what was learned by all complete chunks; the beginning of the next ones

    Example:

        >>> import equinox as eqx, jax, mttt
        >>> key, rule = jax.random.key(0), mttt.GradientDescent()
        >>> x = jax.random.normal(key, (10, 16))
        >>> carry = mttt.Trained(mttt.AffineLearner(8, key=key)).first(rule, x.dtype)
        >>> parts = mttt.KeyValue(16, 8, key=key), rule, mttt.MeanRates(16, 8), mttt.Chunks(4)
        >>> read = eqx.filter_jit(mttt.online_loop)(carry, *parts, x, x[:, :8])
        >>> read.answers.shape, int(read.carry.t)  # two complete chunks
        ((10, 8), 2)
    """

    answers: Float[Array, "n k"]
    carry: Carry


def form_of(course: Course, learner: Any, tokens: int, *, decays: bool) -> Form:
    """The fastest exact form of this product of parts, for so many tokens. `decays`: something is forgotten."""
    optimizer, chunking = course.optimizer, course.chunking
    descends = isinstance(optimizer, GradientDescent)
    one_rate = descends and jnp.ndim(optimizer.rate_at(0)) == 0 and getattr(optimizer.rate, "ndim", 0) == 0
    single = chunking.size == 1 and chunking.learns_first
    # Arrays that a loss which is no module may close over could not be differentiated by in a backward pass of our own.
    whole = isinstance(course.losses, eqx.Module)
    if single and one_rate and isinstance(learner, LinearLearner) and has_straight_slope(course.losses):
        return WY(course, min(wy.BLOCK, tokens))
    if single and one_rate and isinstance(learner, LayeredLearner) and whole:
        return Substitution(course, min(substitution.BLOCK, tokens))
    if descends and isinstance(learner, LayeredLearner):
        return Dual(course, chunking.size, undoes=whole)
    if not chunking.learns_first and not decays:
        return AtOnce(course, chunking.size)
    return Recurrent(course, chunking.size)


def online_loop(
    carry: Carry,
    task: TokenwiseTask,
    optimizer: Optimizer,
    rates: Rates,
    chunking: Chunking,
    tokens: Float[Array, "n d"],
    queries: Float[Array, "n k"],
    *,
    mask: Bool[Array, " n"] | None = None,
    adjoint: Adjoint = Recompute(),  # noqa: B008
) -> Read:
    """Read tokens in order, for one head: learn them chunk by chunk, and answer each query with its token's W.

    A last chunk that is not complete is answered, and learned as far as its own answers go, but leaves no trace in the
    carry: whoever goes on gives its tokens again. The fastest exact form of this product of parts is taken.

    Arguments:
    - carry: what was learned before, at the beginning of a chunk; at first `start.first(optimizer, dtype)`
    - task: poses each token's problem
    - optimizer: the update rule
    - rates: how much each token is learned, and how much is forgotten
    - chunking: the tokens of one step: `Chunks(b)` or `AnswerThenLearn(b)`
    - tokens: (n, d), floats
    - queries: (n, k), what the learner is asked at each token
    - mask: (n,), True for the tokens that are there; they come first, and the others only fill the room. None: all are
    - adjoint: what the outer backward pass keeps

    Returns: `Read(answers, carry)`, with answers (n, k).

    Example:

        >>> import equinox as eqx, jax, mttt
        >>> key, rule = jax.random.key(0), mttt.GradientDescent()
        >>> x = jax.random.normal(key, (10, 16))
        >>> carry = mttt.Zeros(mttt.LinearLearner(8, key=key)).first(rule, x.dtype)
        >>> parts = mttt.KeyValue(16, 8, unit=True, key=key), rule, mttt.GatedRates(16, 8, key=key), mttt.Chunks(1)
        >>> eqx.filter_jit(mttt.online_loop)(carry, *parts, x, x[:, :8]).answers.shape  # the delta rule
        (10, 8)
    """
    _check(carry.learner, task)
    problem = task.problem(tokens)
    given = rates.of(tokens)
    eta = given.eta.astype(queries.dtype) * (1 if problem.weights is None else problem.weights)
    decay = None if given.log_decay is None else given.log_decay.astype(queries.dtype)
    if mask is not None:
        eta, decay = jnp.where(mask, eta, 0), None if decay is None else jnp.where(mask, decay, 0)
    course = Course(problem.losses, optimizer, chunking, rates.places(chunking.size).astype(queries.dtype))
    form = form_of(course, carry.learner, tokens.shape[0], decays=decay is not None)
    rows = Chunk(problem.inputs, problem.targets, eta, decay, queries, None)
    done = tokens.shape[0] // chunking.size if mask is None else jnp.sum(mask) // chunking.size
    answers, new = _read(form, carry, rows, mask, adjoint)
    assert carry.t is not None
    return Read(answers, Carry(new.learner, new.state, carry.t + jnp.asarray(done, carry.t.dtype)))


def _check(learner: Any, task: Any) -> None:
    for part, kind, what in ((learner, TokenwiseLearner, "learner"), (task, TokenwiseTask, "task")):
        if not isinstance(part, kind):
            raise ValueError(
                f"the {what} {type(part).__name__} may look at other tokens, so it would see those that are still to "
                f"come. Make it a {kind.__name__} if it takes each token for itself"
            )


def _read(
    form: Form, carry: Carry, rows: Chunk, mask: Bool[Array, " n"] | None, adjoint: Adjoint
) -> tuple[Float[Array, "n k"], Carry]:
    """Whole chunks in a loop, then what is left. Where it is known only later how many there are, all are whole."""
    n = rows.inputs.shape[0]
    count, left = divmod(n, form.size)
    answers = []
    if count:
        whole = jax.tree.map(lambda a: a[: n - left].reshape(count, form.size, *a.shape[1:]), rows)
        if mask is not None and not form.each:
            whole = whole._replace(full=jnp.all(mask[: n - left].reshape(count, form.size), axis=1))
        carry, found = form.read(adjoint, carry, whole)
        answers.append(found.reshape(-1, found.shape[-1]))
    if left:
        rest = jax.tree.map(lambda a: a[n - left :], rows)
        after, found, _ = _shorter(form, left).advance(carry, rest)
        answers.append(found)
        carry = after if form.each else carry
    return jnp.concatenate(answers) if len(answers) > 1 else answers[0], carry


def _shorter(form: Form, size: int) -> Form:
    """The form for a chunk that is not complete."""
    course = form.course._replace(places=form.course.places[:size])
    return eqx.tree_at(lambda form: form.course, form, course, is_leaf=lambda x: isinstance(x, Course))
