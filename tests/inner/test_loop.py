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
def _drawn(wide):
    """Every learner, task and optimizer: one program for all."""

    def draw(key):
        a, b = jax.random.split(key)
        learners = {name: start(make(WIDTH, key=a)) for name, (make, start) in LEARNERS.items()}
        tasks = {name: make(DIM, WIDTH, key=b) for name, make in TASKS.items()}
        return learners, tasks, {name: make() for name, make in OPTIMIZERS.items()}

    return eqx.filter_jit(draw)(jax.random.key(0))


def make(learner, task, optimizer="fixed"):
    """One head of each, shaken."""
    learners, tasks, optimizers = _drawn(jax.config.jax_enable_x64)
    return shake((learners[learner], tasks[task], optimizers[optimizer]), scale=0.2)


def run(parts, batching, x, **options):
    return mttt.inner_loop(*parts, batching, x, key=jax.random.key(3), **options)


# Every optimizer with both batchings and with no steps.
WAYS = [*zip(OPTIMIZERS, itertools.cycle(BATCHINGS), [3, 0, 3, 3], strict=False), ("optax", "full", 3)]
# The parts do not ask for each other: pairs are enough. Two ways of each product, so that every learner and every task
# meets all five. Compiling takes long: each learner once, and each task at least once, with optax and mini-batches.
PRODUCTS = [
    (learner, task, [WAYS[(i + j) % 5], WAYS[(i + j + 1) % 5]], i + j in (3, 7))
    for i, learner in enumerate(PARAMETRIC)
    for j, task in enumerate(TASKS)
]


def answers(parts, batching, x):
    learned = run(parts, batching, x, losses=True)
    return learned.carry.learner(x[:, :WIDTH]), learned.losses


@pytest.mark.parametrize(("learner", "task", "ways", "compiled"), PRODUCTS)
def test_every_product_runs(learner, task, ways, compiled):
    for optimizer, batching, steps in ways:
        given = make(learner, task, optimizer), BATCHINGS[batching](steps), tokens()
        if compiled and (optimizer, batching, steps) == ("optax", "mini", 3):
            made = eqx.filter_jit(answers)(*given)
            assert all(bool(jnp.all(jnp.isfinite(a))) for a in made)
        else:
            made = eqx.filter_eval_shape(answers, *given)
        assert [a.shape for a in made] == [(N, WIDTH), (steps + 1,)]


def test_every_learner_and_every_task_meets_every_way():
    for place, names in ((0, PARAMETRIC), (1, TASKS)):
        met = {(product[place], way) for product in PRODUCTS for way in product[2]}
        assert met == set(itertools.product(names, WAYS))
        assert {product[place] for product in PRODUCTS if product[3] and WAYS[3] in product[2]} == set(names)


# One mini-batch is the full batch, and none is none: test_batching.py. A learner without weights takes no steps.
THREE = [("full", 3), ("mini", 3)]
# The other task with one way of each learner: how often its problem is posed is nothing that it knows.
ONCE = [("plain", learner, *way) for learner, way in zip(PARAMETRIC, itertools.cycle(THREE))]
# Every learner with every way, with one of the tasks; zeros, whose first step knows the task, with both.
CASES = [(learner, "full", 1) for learner in PARAMETRIC]
CASES += [(learner, *way) for learner, way in zip(PARAMETRIC, itertools.cycle(reversed(THREE)))]
CASES += [("mlp", "full", 0), ("zero-linear", "full", 0), ("zero-linear", "mini", 3)]
CASES += [(learner, "full", 1) for learner in NON_PARAMETRIC]
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
    leaves = [np.asarray(leaf) for leaf in leaves]

    def outer(leaves):
        parts, x = eqx.combine(jax.tree.unflatten(treedef, leaves), rest)
        learned = run(parts, BATCHINGS[batching](steps), x)
        return jnp.sum(readout * learned.carry.learner(x[:, :WIDTH]))

    value_and_gradient = jax.jit(jax.value_and_grad(outer))  # one program for both, called with shifted arrays

    def value(i, shift):
        return float(value_and_gradient([*leaves[:i], leaves[i] + shift, *leaves[i + 1 :]])[0])

    gradient, h = value_and_gradient(leaves)[1], 1e-5
    # One random direction for each array, so that no array's error hides behind another's.
    directions = {i: rng.normal(size=leaves[i].shape) for i in moving}
    exact = np.array([np.sum(np.asarray(gradient[i]) * v) for i, v in directions.items()])
    approximate = np.array([(value(i, h * v) - value(i, -h * v)) / (2 * h) for i, v in directions.items()])
    assert np.max(np.abs(exact - approximate)) / max(np.max(np.abs(exact)), 1e-3) < 1e-6
    for i in set(range(len(leaves))) - set(moving):
        assert not jnp.any(gradient[i]), "a frozen W₀ gets no gradient"


# The paper's divisor, too: it is a factor, whatever the learner.
@pytest.mark.parametrize(
    ("task", "learner"), [*itertools.product(["plain", "normalised"], ["linear", "mlp"]), ("paper", "mlp")]
)
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
    learned = eqx.filter_jit(run)(parts, mttt.FullBatch(0), x, losses=True)
    assert relative_error(learned.carry.learner, parts[0].learner) == 0
    assert learned.losses.shape == (1,)


def test_second_derivatives_of_the_outer_loss(float64):
    parts, x = make("mlp", "normalised"), tokens()
    eta_direction = 1e-4

    def outer(eta):
        learned = mttt.inner_loop(parts[0], parts[1], mttt.GradientDescent(eta), mttt.FullBatch(2), x)
        return jnp.sum(jnp.sin(learned.carry.learner(x[:, :WIDTH])))

    eta = jnp.asarray(0.7)
    derivatives = jax.jit(jax.value_and_grad(jax.grad(outer)))
    (up, _), (down, _) = derivatives(eta + eta_direction), derivatives(eta - eta_direction)
    expected = (up - down) / (2 * eta_direction)
    assert abs(float(derivatives(eta)[1] / expected) - 1) < 1e-6


def test_losses_fall_with_every_step():
    parts, x = make("mlp", "normalised"), tokens()
    losses = eqx.filter_jit(run)(parts, mttt.FullBatch(4), x, losses=True).losses
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
    @eqx.filter_jit
    def found(parts, x):
        problem = parts[1](x)
        learned = run(parts, mttt.MiniBatches(3), x, losses=True)
        return learned.losses[-1], jnp.mean(problem.losses(learned.carry.learner(problem.inputs), problem.targets))

    got, expected = found(make("mlp", "normalised"), tokens())
    assert abs(float(got - expected)) < 1e-6
