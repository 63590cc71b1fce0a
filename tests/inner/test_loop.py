"""The driver over the product of learners, tasks, optimizers and batchings."""

import functools
import itertools
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import (
    BATCHINGS,
    DIM,
    LEARNERS,
    NON_PARAMETRIC,
    OPTIMIZERS,
    PARAMETRIC,
    TASKS,
    WIDTH,
    N,
    relative_error,
    shake,
    tokens,
)
from oracles import PlainReconstruction, plain_steps


@functools.cache
def _drawn(learner, task, optimizer, wide):
    def draw(key):
        a, b = jax.random.split(key)
        make, start = LEARNERS[learner]
        return start(make(WIDTH, key=a)), TASKS[task](DIM, WIDTH, key=b), OPTIMIZERS[optimizer]()

    return eqx.filter_jit(draw)(jax.random.key(0))


def make(learner, task, optimizer="fixed"):
    """One head of each, shaken."""
    return shake(_drawn(learner, task, optimizer, jax.config.jax_enable_x64), scale=0.2)


def run(parts, batching, x, **options):
    return mttt.inner_loop(*parts, batching, x, key=jax.random.key(3), **options)


# Every optimizer with both batchings and with no steps. The parts do not ask for each other, so triples are enough.
WAYS = [*zip(OPTIMIZERS, itertools.cycle(BATCHINGS), [3, 0, 3, 3], strict=False), ("optax", "full", 3)]


@pytest.mark.parametrize("learner", PARAMETRIC)
@pytest.mark.parametrize("task", TASKS)
def test_every_product_runs(learner, task):
    x = tokens()
    for optimizer, batching, steps in WAYS:
        parts, made = make(learner, task, optimizer), BATCHINGS[batching](steps)

        def answers(parts, x, made=made):
            learned = run(parts, made, x, losses=True)
            return learned.carry.learner(x[:, :WIDTH]), learned.losses

        shapes = eqx.filter_eval_shape(answers, parts, x)
        assert [shape.shape for shape in shapes] == [(N, WIDTH), (steps + 1,)]
        # Compiling takes long: each learner once, and each task once.
        if (optimizer, batching, steps) == ("optax", "mini", 3) and (learner == "mlp" or task == "normalised"):
            assert all(bool(jnp.all(jnp.isfinite(a))) for a in eqx.filter_jit(answers)(parts, x))


# One mini-batch is the full batch, and none is none: test_batching.py. A learner without weights takes no steps.
CASES = [(learner, *way) for learner in PARAMETRIC for way in (("full", 1), ("full", 3), ("mini", 3))]
CASES += [("mlp", "full", 0), ("zero-linear", "full", 0), *((learner, "full", 1) for learner in NON_PARAMETRIC)]
# The other task with one way of each learner: how often its problem is posed is nothing that it knows.
ONCE = [("plain", learner, *way) for learner, way in zip(PARAMETRIC, itertools.cycle([("full", 3), ("mini", 3)]))]
ONCE += [("plain", learner, "full", 1) for learner in ("zero-linear", *NON_PARAMETRIC)]


@pytest.mark.parametrize(("task", "learner", "batching", "steps"), [*ONCE, *(("normalised", *case) for case in CASES)])
def test_outer_gradient_is_the_finite_difference(float64, task, learner, batching, steps):
    parts, x = make(learner, task), tokens()
    frozen = {id(leaf) for leaf in jax.tree.leaves(parts[0])} if learner == "frozen-mlp" else set()
    rng = np.random.default_rng(5)
    readout = rng.normal(size=(N, WIDTH))
    variables, rest = eqx.partition((parts, x), eqx.is_inexact_array)
    leaves, treedef = jax.tree.flatten(variables)
    moving = [i for i, leaf in enumerate(leaves) if id(leaf) not in frozen]

    def outer(leaves):
        parts, x = eqx.combine(jax.tree.unflatten(treedef, leaves), rest)
        learned = run(parts, BATCHINGS[batching](steps), x)
        return jnp.sum(readout * learned.carry.learner(x[:, :WIDTH]))

    # One random direction for each array, so that no array's error hides behind another's.
    directions = [[rng.normal(size=leaf.shape) * float(i == j) for j, leaf in enumerate(leaves)] for i in moving]
    h = 1e-5

    @jax.jit
    def derivatives(leaves):
        gradient = jax.grad(outer)(leaves)
        exact = [sum(jnp.sum(g * v) for g, v in zip(gradient, vs, strict=True)) for vs in directions]
        shifted = jnp.asarray([h, -h])
        stacked = jax.tree.map(lambda *vs: jnp.stack(vs), *directions)

        def difference(vs):
            ends = jax.vmap(lambda s: outer([leaf + s * v for leaf, v in zip(leaves, vs, strict=True)]))(shifted)
            return (ends[0] - ends[1]) / (2 * h)

        return jnp.stack(exact), jax.vmap(difference)(stacked), gradient

    exact, approximate, gradient = derivatives(leaves)
    scale = jnp.maximum(jnp.max(jnp.abs(exact)), 1e-3)
    assert float(jnp.max(jnp.abs(exact - approximate)) / scale) < 1e-6
    for i in set(range(len(leaves))) - set(moving):
        assert not jnp.any(gradient[i]), "a frozen W₀ gets no gradient"


@pytest.mark.parametrize("learner", ["linear", "mlp"])
@pytest.mark.parametrize("task", ["plain", "normalised", "paper"])
def test_compressed_task_is_the_plain_task(float64, learner, task):
    (start, compressed, optimizer), x = make(learner, task), tokens()

    def outer(wrap, variables):
        start, compressed, x = variables
        learned = mttt.inner_loop(start, wrap(compressed), optimizer, mttt.FullBatch(3), x, losses=True)
        out = learned.carry.learner(x[:, :WIDTH])
        return jnp.sum(jnp.sin(out)) + learned.losses[-1], (out, learned.losses)

    @eqx.filter_jit
    def both(variables):
        return [
            eqx.filter_value_and_grad(partial(outer, wrap), has_aux=True)(variables)
            for wrap in (lambda task: task, PlainReconstruction)
        ]

    ((_, got), got_gradient), ((_, expected), expected_gradient) = both((start, compressed, x))
    assert relative_error(got, expected) < 1e-11
    assert relative_error(got_gradient, expected_gradient) < 1e-9


@pytest.mark.parametrize("task", ["plain", "normalised"])
def test_compressed_task_in_float32(task):
    (start, compressed, optimizer), x = make("mlp", task), tokens(n=64)

    @eqx.filter_jit
    def outer(start, compressed, x):
        learned = mttt.inner_loop(start, compressed, optimizer, mttt.FullBatch(1), x, losses=True)
        return learned.carry.learner(x[:, :WIDTH]), learned.losses

    got = outer(start, compressed, x)
    expected = outer(start, PlainReconstruction(compressed), x)
    assert relative_error(got, expected) < 1e-5


@pytest.mark.parametrize("task", ["plain", "normalised"])
def test_scan_is_a_python_loop(float64, task):
    parts, x = make("mlp", task), tokens()
    scanned = eqx.filter_jit(run)(parts, mttt.FullBatch(4), x, losses=True)
    by_hand, losses = eqx.filter_jit(plain_steps)(parts[0].learner, PlainReconstruction(parts[1]), x, 4, 1.0)
    assert relative_error(scanned.carry.learner, by_hand) < 1e-11
    assert relative_error(scanned.losses, losses) < 1e-11


def test_zero_steps_return_the_start():
    parts, x = make("mlp", "plain"), tokens()
    learned = run(parts, mttt.FullBatch(0), x, losses=True)
    assert relative_error(learned.carry.learner, parts[0].learner) == 0
    assert learned.losses.shape == (1,)


def test_second_derivatives_of_the_outer_loss(float64):
    parts, x = make("mlp", "normalised"), tokens()
    eta_direction = 1e-4

    def outer(eta):
        learned = mttt.inner_loop(parts[0], parts[1], mttt.GradientDescent(eta), mttt.FullBatch(2), x)
        return jnp.sum(jnp.sin(learned.carry.learner(x[:, :WIDTH])))

    eta = jnp.asarray(0.7)
    slope = jax.jit(jax.grad(outer))
    curvature = jax.jit(jax.grad(jax.grad(outer)))
    expected = (slope(eta + eta_direction) - slope(eta - eta_direction)) / (2 * eta_direction)
    assert abs(float(curvature(eta) / expected) - 1) < 1e-6


def test_losses_fall_with_every_step():
    parts, x = make("mlp", "normalised"), tokens()
    losses = run(parts, mttt.FullBatch(4), x, losses=True).losses
    assert bool(jnp.all(jnp.diff(losses) < 0))


@pytest.mark.parametrize("task", ["plain", "normalised"])
@pytest.mark.parametrize("batching", [mttt.FullBatch(3), mttt.MiniBatches(3), mttt.FullBatch(0)])
def test_zeros_are_zeros(float64, task, batching):
    start, made, optimizer = make("zero-linear", task)
    x = tokens()
    symbolic = eqx.filter_jit(run)((start, made, optimizer), batching, x, losses=True)
    written_out = eqx.filter_jit(run)(
        (mttt.Trained(start.written_out(x.dtype)), made, optimizer), batching, x, losses=True
    )
    assert relative_error(symbolic, written_out) < 1e-12


def test_zeros_of_a_learner_that_answers_something_else_are_refused():
    class Skip(eqx.Module):
        inside: mttt.LinearLearner

        def __call__(self, inputs, *, key=None):
            return inputs + self.inside(inputs)

    start = mttt.Zeros(Skip(mttt.LinearLearner(WIDTH, key=jax.random.key(0))))
    _, made, optimizer = make("mlp", "plain")
    with pytest.raises(ValueError, match="answers 0 when W is 0; Skip does not"):
        jax.jit(lambda x: run((start, made, optimizer), mttt.FullBatch(1), x).losses)(tokens())


def test_a_learner_without_weights_needs_labels():
    start, made, optimizer = make("exponential", "own")
    with pytest.raises(ValueError, match="has to remember labels"):
        run((start, made, optimizer), mttt.FullBatch(1), tokens())


def test_the_losses_are_over_all_tokens_whatever_the_batching():
    parts, x = make("mlp", "normalised"), tokens()
    problem = parts[1](x)
    learned = run(parts, mttt.MiniBatches(3), x, losses=True)
    expected = jnp.mean(problem.losses(learned.carry.learner(problem.inputs), problem.targets))
    assert abs(float(learned.losses[-1] - expected)) < 1e-6
