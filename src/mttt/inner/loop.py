"""The inner loop: tokens in, a trained learner out. The only loop there is."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from mttt.inner.batching import Batching, permute
from mttt.inner.blocks import block_size, sum_over_blocks
from mttt.inner.learner import Blockwise, Learner, NonParametric, Zeros
from mttt.inner.optimizer import Optimizer
from mttt.inner.task import Problem, Task
from mttt.nn.dense import wide
from mttt.nn.roles import Frozen


class Trained(NamedTuple):
    """The learner with W_T, and ℓ(W₀), …, ℓ(W_T) over all tokens if they were asked for."""

    learner: Learner
    losses: Float[Array, " T+1"] | None


def inner_loop(
    learner: eqx.Module,
    task: Task,
    optimizer: Optimizer,
    batching: Batching,
    tokens: Float[Array, "n d"],
    *,
    key: PRNGKeyArray | None = None,
    losses: bool = False,
    block: int | None = None,
) -> Trained:
    """Train `learner` on `tokens` with T steps of `optimizer` on `task`.

    `learner` is W₀: a learner (the outer loop trains it), `Frozen(learner)` or `Zeros(learner)`. The result is
    differentiable to any order, in reverse mode, in everything that holds an array. `key` is used by random batchings.
    The losses cost a forward pass for each step and one more, so they are computed only if asked for. A `Blockwise`
    learner sees at most `block` tokens at a time, by default a number that suits n: the same gradient in less memory.

    A learner without weights keeps its data and returns: it takes no steps and has no losses.
    """
    n = tokens.shape[0]
    start = learner.thaw() if isinstance(learner, Frozen) else learner
    if isinstance(start, NonParametric):
        problem = task(tokens)
        if problem.labels is None:
            raise ValueError(f"{type(start).__name__} has to remember labels, and {type(task).__name__} has none")
        return Trained(start.fit(problem.inputs, problem.labels), None)

    order, phases = batching.split(n, key)
    # A problem that is looked at once is posed where it is looked at, and not kept. Tokens are then the rows.
    once = task.tokenwise and not losses and (order is not None or batching.steps <= 1)
    problem = None if once else task(tokens)
    rows = tokens if problem is None else (problem.inputs, problem.targets)

    def pose(rows: Any) -> Problem:
        if problem is None:
            return task(rows)
        inputs, targets = rows
        return Problem(inputs, targets, problem.losses, slope=problem.slope)

    trained = start.materialise(wide(tokens).dtype) if isinstance(start, Zeros) else start
    weights, rest = eqx.partition(trained, eqx.is_inexact_array)
    at_most = block_size(trained, n, block)

    def part_of_loss(weights: PyTree[Array], rows: Any, m: int) -> Float[Array, ""]:
        """What some of m rows add to their mean loss."""
        posed = pose(rows)
        return jnp.sum(posed.losses(eqx.combine(weights, rest)(posed.inputs), posed.targets)) / m

    def total(weights: PyTree[Array]) -> Float[Array, ""]:
        return sum_over_blocks(lambda rows: part_of_loss(weights, rows, n), rows, at_most)

    # One of several steps makes its activations again in the outer backward pass, like one of several blocks.
    several = isinstance(trained, Blockwise) and batching.steps > 1

    def gradient(weights: PyTree[Array], rows: Any, m: int) -> PyTree[Array]:
        return sum_over_blocks(lambda part: jax.grad(part_of_loss)(weights, part, m), rows, at_most, again=several)

    state = optimizer.init(weights)
    t: Int[Array, ""] | int = 0
    history = []
    ordered = rows if order is None else jax.tree.map(lambda a: permute(a, order), rows)
    begin = 0
    for steps, m in phases:

        def step(carry, batch, m=m):
            weights, state, t = carry
            new = optimizer.step(gradient(weights, rows if batch is None else batch, m), state, weights, t)
            return (*new, t + 1), total(weights) if losses else None

        batches = None
        if order is not None:
            end = begin + steps * m
            batches = jax.tree.map(lambda a: a[begin:end].reshape(steps, m, *a.shape[1:]), ordered)  # noqa: B023
            begin = end
        if isinstance(start, Zeros):  # the first step, taken without a forward pass
            first = pose(rows if batches is None else jax.tree.map(lambda a: a[0], batches))
            if losses:
                history.append(total(weights)[None])
            slope = start.pull_back(first.inputs, first.slope_at_zero())
            weights, state = optimizer.step(jax.tree.map(lambda g: g / m, slope), state, weights, t)  # noqa: B023
            steps, t, start = steps - 1, 1, trained
            batches = None if batches is None else jax.tree.map(lambda a: a[1:], batches)
        if steps:
            carry = weights, state, jnp.asarray(t)
            if steps == 1:  # a loop around one step still costs copies of what it carries
                (weights, state, t), before = step(carry, jax.tree.map(lambda a: a[0], batches))
                before = jax.tree.map(lambda a: a[None], before)
            else:
                (weights, state, t), before = jax.lax.scan(step, carry, batches, length=steps)
            history += [before] if losses else []

    if losses:
        history.append(total(weights)[None])
    return Trained(eqx.combine(weights, rest), jnp.concatenate(history) if losses else None)
