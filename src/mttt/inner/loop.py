"""The inner loop: tokens in, a trained learner out. The only loop there is."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from mttt.inner.batching import Batching
from mttt.inner.learner import Learner, NonParametric, Zeros
from mttt.inner.optimizer import Optimizer
from mttt.inner.task import Task
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
    unroll: int = 1,
) -> Trained:
    """Train `learner` on `tokens` with T steps of `optimizer` on `task`.

    `learner` is W₀: a learner (the outer loop trains it), `Frozen(learner)` or `Zeros(learner)`. The result is
    differentiable to any order in everything that holds an array. `key` is used by random batchings. The losses cost
    a forward pass (and one a step where the steps see mini-batches), so they are computed only if asked for. `unroll`
    is how many steps one iteration of the compiled loop holds.

    A learner without weights keeps its data and returns: it takes no steps and has no losses.
    """
    problem = task(tokens)
    start = learner.thaw() if isinstance(learner, Frozen) else learner
    if isinstance(start, NonParametric):
        if problem.labels is None:
            raise ValueError(f"{type(start).__name__} has to remember labels, and {type(task).__name__} has none")
        return Trained(start.fit(problem.inputs, problem.labels), None)

    trained = start.materialise(problem.inputs.dtype) if isinstance(start, Zeros) else start
    weights, rest = eqx.partition(trained, eqx.is_inexact_array)
    state = optimizer.init(weights)
    t: Int[Array, ""] | int = 0
    history = []

    def total(weights: PyTree[Array]) -> Float[Array, ""]:
        return problem.mean_loss(eqx.combine(weights, rest)(problem.inputs), problem.targets)

    def step(carry, batch):
        weights, state, t = carry
        inputs, targets = (problem.inputs, problem.targets) if batch is None else batch
        gradient = jax.grad(lambda w: problem.mean_loss(eqx.combine(w, rest)(inputs), targets))(weights)
        new_weights, state = optimizer.step(gradient, state, weights, t)
        return (new_weights, state, t + 1), total(weights) if losses else None

    for phase in batching.phases(tokens.shape[0], key):
        steps = phase.steps
        batches = None
        if phase.rows is not None:
            batches = jax.tree.map(lambda a, rows=phase.rows: a[rows], (problem.inputs, problem.targets))
        if isinstance(start, Zeros):  # the first step, taken without a forward pass
            first = (problem.inputs, problem.targets) if batches is None else jax.tree.map(lambda a: a[0], batches)
            history += [problem.mean_loss(jnp.zeros_like(problem.inputs), problem.targets)[None]] if losses else []
            cotangent = problem.slope_at_zero(*first)
            weights, state = optimizer.step(start.pull_back(first[0], cotangent), state, weights, t)
            steps, t, start = steps - 1, 1, trained
            batches = None if batches is None else jax.tree.map(lambda a: a[1:], batches)
        if steps:
            carry = weights, state, jnp.asarray(t)
            (weights, state, t), before = jax.lax.scan(step, carry, batches, length=steps, unroll=unroll)
            history += [before] if losses else []

    if losses:
        history.append(total(weights)[None])
    return Trained(eqx.combine(weights, rest), jnp.concatenate(history) if losses else None)
