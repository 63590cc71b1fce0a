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
    """W_T and all that goes with it; ℓ(W₀), …, ℓ(W_T) over all tokens if they were asked for."""

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
    """Learn from `tokens` (n, d) with T steps of `optimizer` on `task`; `carry.learner` of the result answers.

    `start` is W₀ (`Trained`, `Frozen` or `Zeros` of a learner, `Memory` of one without weights), or the carry of an
    earlier loop, which then goes on. `mask` (n,) is False for tokens that are only padding. `key` is for random
    batchings and for learners that draw. `rates` say how much each token is learned; without, all are alike, and a step
    descends on the mean of their losses. `losses` asks for that mean before each step and at the end, whatever the
    rates; each costs a forward pass. Under `jax.shard_map`, `axis` names the mesh axis that the tokens of the input are
    split over: all parts learn one W, from all tokens, and each takes its mini-batches from its own. The result is
    differentiable to any order, in reverse mode, in everything that holds an array.
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
