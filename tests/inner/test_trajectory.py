"""The way from W₀ to W_T, against the inner loop that keeps only its end."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import mttt
from catalogue import BATCHINGS, DIM, TASKS, WIDTH, N, relative_error, shake, tokens
from inner.test_loop import make
from mttt.inner import trajectory

T = 3
# Each learner, task, optimizer and batching at least once; a Memory takes no steps.
WAYS = [
    ("mlp", "normalised", "fixed", "full", False),
    ("zero-linear", "plain", "per-step", "mini", False),
    ("frozen-mlp", "paper", "optax", "full", False),
    ("stranger", "own", "learned", "mini", False),
    ("linear", "normalised", "fixed", "mini", True),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way)))
def test_it_goes_where_the_inner_loop_goes(float64, way):
    learner, task, optimizer, batching, rated = way
    start, task, optimizer = make(learner, task, optimizer)
    split = BATCHINGS[batching](T).draw(N)
    how = {"rates": shake(mttt.GatedRates(DIM, WIDTH, key=jax.random.key(1))) if rated else None}
    x = tokens()

    @eqx.filter_jit
    def run(parts, x):
        way = trajectory(*parts, split, x, **how)
        shares = jax.vmap(lambda i: trajectory(*parts, split, x, **how, token=i).shares)(jnp.arange(N))
        # Mini-batches are others for another T.
        stops = [mttt.FullBatch(t) for t in range(T)] if batching == "full" else []
        ends = [mttt.inner_loop(*parts, stop, x, **how).carry.weights for stop in stops]
        return way, shares, mttt.inner_loop(*parts, split, x, **how, losses=True), ends

    way, shares, whole, ends = run((start, task, optimizer), x)
    assert way.losses.shape == (T + 1, N)
    assert relative_error(jnp.mean(way.losses, axis=1), whole.losses) < 1e-12
    ends = [*ends, whole.carry.weights]
    for t, weights in zip(range(T + 1 - len(ends), T + 1), ends, strict=True):
        assert relative_error(eqx.filter(way.learner_at(t), eqx.is_inexact_array), weights) < 1e-12
    assert way.carries.t.tolist() == list(range(T + 1))
    assert relative_error(jax.tree.map(lambda a: a.sum(axis=0), shares), way.gradients) < 1e-12
    if batching == "mini":  # each token has a part in exactly one step
        sizes = sum(jnp.abs(a).reshape(N, T, -1).sum(axis=2) for a in jax.tree.leaves(shares))
        assert (sizes > 0).sum(axis=1).tolist() == [1] * N


def test_without_steps_there_is_w0_alone():
    start, task, optimizer = make("mlp", "normalised", "fixed")
    run = eqx.filter_jit(lambda parts, x: trajectory(*parts, mttt.FullBatch(0), x))
    way = run((start, task, optimizer), tokens())
    assert way.losses.shape == (1, N)
    assert way.gradients is None and way.shares is None
    assert jnp.array_equal(way.learner_at(0).up.weight, start.learner.up.weight)


@pytest.mark.parametrize("name", ["plain", "normalised"])
def test_what_the_reconstruction_shows_is_what_its_loss_is_of(float64, name):
    task, x = shake(TASKS[name](DIM, WIDTH, key=jax.random.key(0))), tokens()
    answers = x[:, :WIDTH]
    shown = task.compare(x, answers)
    wrong = 0.5 * jnp.sum((shown.answers - shown.targets) ** 2, axis=1) / task.divisor
    assert shown.name == "token"
    assert relative_error(wrong, task(x).losses_of(answers)) < 1e-12


@pytest.mark.parametrize("residual", [False, True])
def test_what_key_and_value_show_is_what_their_loss_is_of(float64, residual):
    task = shake(mttt.KeyValue(DIM, WIDTH, norm=True, residual=residual, unit=True, key=jax.random.key(0)))
    x = tokens()
    answers = x[:, :WIDTH]
    shown = task.compare(x, answers)
    wrong = 0.5 * jnp.sum((shown.answers - shown.targets) ** 2, axis=1)
    assert shown.name == "value"
    assert relative_error(wrong, task(x).losses_of(answers)) < 1e-12


def test_a_task_of_somebody_else_shows_nothing():
    assert TASKS["own"](DIM, WIDTH, key=jax.random.key(0)).compare(tokens(), tokens()[:, :WIDTH]) is None
