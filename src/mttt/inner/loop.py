"""The inner loop: tokens in, what was learned of them out."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.adjoint import Adjoint, Recompute
from mttt.inner.batching import Batching, Split
from mttt.inner.carry import Carry, Lesson, Rated, Start
from mttt.inner.optimizer import Optimizer
from mttt.inner.rates import Rates
from mttt.inner.task import Task
from mttt.nn.check import check_instance, check_tokens
from mttt.nn.mask import keep_real


class Learned(NamedTuple):
    """What `inner_loop` returns.

    Fields:
    - carry: `carry.learner` holds W_T; with the optimizer's state and t, it can be the start of another loop
    - losses: ℓ(W₀), …, ℓ(W_T) over all tokens, (T + 1,), if they were asked for; None otherwise

    Example:

        >>> import equinox as eqx, jax, mttt
        >>> key = jax.random.key(0)
        >>> parts = mttt.Reconstruction(16, 8, key=key), mttt.GradientDescent(), mttt.FullBatch(1)
        >>> start, x = mttt.Trained(mttt.MLPLearner(8, key=key)), jax.random.normal(key, (10, 16))
        >>> learned = eqx.filter_jit(mttt.inner_loop)(start, *parts, x, losses=True)
        >>> learned.losses.shape, int(learned.carry.t)
        ((2,), 1)
    """

    carry: Carry
    losses: Float[Array, " T+1"] | None


def inner_loop(
    start: Start,
    task: Task,
    optimizer: Optimizer,
    batching: Batching,
    tokens: Float[Array, "..."],
    *,
    mask: Any = None,
    key: PRNGKeyArray | None = None,
    losses: bool = False,
    rates: Rates | None = None,
    adjoint: Adjoint = Recompute(),  # noqa: B008
    axis: str | None = None,
) -> Learned:
    """Learn from the tokens of one input with T steps, for one head.

        W_t = W_{t−1} − η∇ℓ(W_{t−1}), t = 1 … T, or another update rule

    It is differentiable to any order, in reverse mode, in everything that holds an array.

    Arguments:
    - start: W₀: `Trained`, `Frozen` or `Zeros` of a learner, `Memory` of one without weights, or the `Carry` of an
      earlier loop, which then goes on
    - task: what is learned: it poses the problem ℓ
    - optimizer: the update rule
    - batching: T, and the tokens of each step
    - tokens: (n, d), floats
    - mask: (n,), False for tokens that are only padding. None: all are real
    - key: random key for random batchings and for learners that draw. None: nothing is random
    - losses: whether ℓ is wanted before each step and at the end, as the mean over all tokens, whatever the rates; each
      costs a forward pass
    - rates: how much each token is learned. None: a step descends on the mean of their losses
    - adjoint: what the outer backward pass keeps
    - axis: under `jax.shard_map`, the mesh axis that the tokens are split over: all parts learn one W, from all tokens,
      and each takes its mini-batches from its own. None: they are not split

    Returns: `Learned(carry, losses)`. `carry.learner` answers inputs (m, k).

    Example:

        >>> import equinox as eqx, jax, mttt
        >>> start = mttt.Trained(mttt.MLPLearner(8, key=jax.random.key(0)))
        >>> task, x = mttt.Reconstruction(16, 8, key=jax.random.key(1)), jax.random.normal(jax.random.key(2), (10, 16))
        >>> learned = eqx.filter_jit(mttt.inner_loop)(start, task, mttt.GradientDescent(), mttt.FullBatch(4), x)
        >>> learned.carry.learner(x[:3, :8]).shape, int(learned.carry.t)
        ((3, 8), 4)
    """
    lesson, _ = lesson_of(
        start,
        task,
        optimizer,
        batching,
        tokens,
        mask=mask,
        key=key,
        losses=losses,
        rates=rates,
        adjoint=adjoint,
        axis=axis,
    )
    carry, phases, first = start.begin(lesson)
    history = list(first or ())
    for phase in phases:
        carry, before = adjoint.repeat(lesson.step, carry, phase)
        history.append(before)
    if not losses or first is None:
        return Learned(carry, None)
    return Learned(carry, jnp.concatenate([*history, lesson.loss(carry.learner)[None]]))


def lesson_of(
    start: Start,
    task: Task,
    optimizer: Optimizer,
    batching: Batching,
    tokens: Float[Array, "..."],
    *,
    mask: Any,
    key: PRNGKeyArray | None,
    losses: bool,
    rates: Rates | None,
    adjoint: Adjoint,
    axis: str | None,
) -> tuple[Lesson, Split]:
    """What each step has to know, and which tokens it learns from; the arguments are those of `inner_loop`."""
    check_instance("start", start, Start, "Trained(learner)")
    check_instance("task", task, Task, "Reconstruction(dim, width, key=key)")
    check_instance("optimizer", optimizer, Optimizer, "GradientDescent(0.5)")
    check_instance("batching", batching, Batching, "FullBatch(4)")
    check_tokens(tokens, mask)
    tokens = keep_real(tokens, mask)
    split = batching.draw(tokens.shape[0], mask=mask, key=key)
    looks = split.looks + losses * (split.steps + 1)
    rows, pose = task.posing(tokens, keep=looks > 1 or adjoint.keeps_problem(tokens.shape[0]), mask=mask)
    rows = Rated(rows, None if rates is None else rates.of(tokens).eta)
    phases = split.phases(rows)
    return Lesson(task, tokens, mask, rows, pose, phases, rates, optimizer, adjoint, key, losses, axis), split
