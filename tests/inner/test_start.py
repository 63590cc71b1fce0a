"""Where learning begins, and that it can go on."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest

import mttt
from catalogue import DIM, WIDTH, relative_error, tokens
from inner.test_loop import make, run


def descend(task, x, steps, update):
    """The linear learner from W₀ = 0, by hand: each step is update(t, W, gradient)."""
    problem = task(x)
    slope = jax.grad(lambda w: jnp.mean(problem.losses(problem.inputs @ w, problem.targets)))
    w = jnp.zeros((WIDTH, WIDTH))
    for t in range(steps):
        w = update(t, w, slope(w))
    return w


@pytest.mark.parametrize("task", ["plain", "normalised"])
def test_from_zeros_with_momentum(float64, task):
    """The momentum must have seen the first step, which is taken without a forward pass."""
    start, made, _ = make("zero-linear", task)
    velocity = jnp.zeros((WIDTH, WIDTH))

    def update(t, w, gradient):
        nonlocal velocity
        velocity = 0.9 * velocity + gradient
        return w - 0.3 * velocity

    optimizer = mttt.OptaxOptimizer(optax.sgd, learning_rate=0.3, momentum=0.9)
    for steps in (1, 3):
        velocity = jnp.zeros_like(velocity)
        got = run((start, made, optimizer), mttt.FullBatch(steps), tokens()).carry
        assert relative_error(got.learner.weight, descend(made, tokens(), steps, update)) < 1e-12
        assert int(got.t) == steps


@pytest.mark.parametrize("task", ["plain", "normalised"])
def test_from_zeros_with_a_rate_for_each_step(float64, task):
    start, made, _ = make("zero-linear", task)
    rates = jnp.array([1.0, 0.25, 0.5])
    got = run((start, made, mttt.GradientDescent(rates)), mttt.FullBatch(3), tokens()).carry.learner.weight
    assert relative_error(got, descend(made, tokens(), 3, lambda t, w, g: w - rates[t] * g)) < 1e-12


@pytest.mark.parametrize("learner", ["mlp", "frozen-mlp", "zero-linear"])
@pytest.mark.parametrize("optimizer", ["per-step", "optax"])
def test_learning_goes_on_from_a_carry(float64, learner, optimizer):
    """One step and two more are three: the weights, the optimizer's memory and t are carried."""
    (start, task, rule), x = make(learner, "normalised", optimizer), tokens()
    loop = partial(mttt.inner_loop, task=task, optimizer=rule, tokens=x, losses=True)
    whole = loop(start, batching=mttt.FullBatch(3))
    first = loop(start, batching=mttt.FullBatch(1))
    kept = jax.tree.map(lambda a: a, first.carry)  # it is a pytree
    rest = loop(kept, batching=mttt.FullBatch(2))
    assert relative_error(rest.carry, whole.carry) < 1e-12
    assert int(rest.carry.t) == 3
    assert relative_error(jnp.concatenate([first.losses, rest.losses[1:]]), whole.losses) < 1e-12


def test_a_frozen_start_is_not_trained():
    start = mttt.Frozen(mttt.MLPLearner(WIDTH, key=jax.random.key(0)))
    assert not any(jax.tree.leaves(mttt.trainable(start)))
    assert all(jax.tree.leaves(mttt.trainable(mttt.Trained(start.learner.module))))


def test_a_learner_without_weights_starts_with_a_memory():
    for start in (mttt.Trained, mttt.Frozen, mttt.Zeros):
        with pytest.raises(ValueError, match=r"NadarayaWatson has no weights.*start=Memory"):
            start(mttt.NadarayaWatson(WIDTH))


class Dropout(eqx.Module):
    """A learner that draws."""

    inside: mttt.LinearLearner

    def __call__(self, inputs, *, key=None):
        answers = self.inside(inputs)
        return answers if key is None else jnp.where(jax.random.bernoulli(key, 0.5, answers.shape), 2 * answers, 0)


def test_keys_reach_the_learner(float64):
    """Each step draws anew from the key; without a key there is nothing random, and losses and answers never draw."""
    learner = Dropout(mttt.LinearLearner(WIDTH, key=jax.random.key(0)))
    _, task, optimizer = make("mlp", "normalised")
    x = tokens()
    loop = partial(mttt.inner_loop, mttt.Trained(learner), task, optimizer, mttt.FullBatch(2), x)
    got = loop(key=jax.random.key(5), losses=True)
    problem, by_hand = task(x), learner
    for t in range(2):
        key = jax.random.fold_in(jax.random.key(5), t)
        loss = lambda f, key=key: jnp.mean(problem.losses(f(problem.inputs, key=key), problem.targets))  # noqa: E731
        by_hand = jax.tree.map(lambda w, g: w - g, by_hand, jax.grad(loss)(by_hand))
    assert relative_error(got.carry.learner, by_hand) < 1e-12
    exact = jnp.mean(problem.losses(by_hand(problem.inputs), problem.targets))
    assert abs(float(got.losses[-1] - exact)) < 1e-12
    assert relative_error(loop(key=jax.random.key(6)).carry.learner, by_hand) > 1e-3
    from_zero = partial(mttt.inner_loop, mttt.Zeros(learner), task, optimizer, mttt.FullBatch(1), x)
    zeros = jax.tree.map(jnp.zeros_like, learner)
    first = jax.random.fold_in(jax.random.key(5), 0)

    def drawn(f):
        return jnp.mean(problem.losses(f(problem.inputs, key=first), problem.targets))

    one = jax.tree.map(lambda g: -g, jax.grad(drawn)(zeros))
    assert relative_error(from_zero(key=jax.random.key(5)).carry.learner, one) < 1e-12, "the first step from 0, too"
    plain = mttt.inner_loop(mttt.Trained(learner.inside), task, optimizer, mttt.FullBatch(2), x).carry.learner
    assert relative_error(loop().carry.learner.inside, plain) < 1e-12


def test_the_heads_of_a_layer_draw_for_themselves():
    """Two equal heads, subtracted from each other, are nothing; unless each drew for itself."""

    def learner(width, *, key):
        return Dropout(mttt.LinearLearner(width, key=jax.random.key(0)))

    def equal(a):
        return jnp.broadcast_to(a[:1], a.shape) if eqx.is_array(a) and a.ndim > 1 else a

    layer = jax.tree.map(equal, mttt.TTT(DIM, 2, learner=learner, key=jax.random.key(1)))
    layer = eqx.tree_at(lambda m: m.merge.weight, layer, jnp.stack([jnp.ones((6, DIM)), -jnp.ones((6, DIM))]))
    assert float(jnp.max(jnp.abs(layer(tokens()).tokens))) < 1e-5
    assert float(jnp.max(jnp.abs(layer(tokens(), key=jax.random.key(2)).tokens))) > 1e-3


def test_a_task_may_weight_its_rows(float64):
    """Weights multiply the losses; the mean is still over all tokens."""

    class Weighted(mttt.TokenwiseTask):
        inner: mttt.Reconstruction
        weights: jax.Array

        def __call__(self, tokens):
            problem = self.inner(tokens)
            weights = jnp.abs(tokens @ self.weights)
            return mttt.Problem(problem.inputs, problem.targets, problem.losses, problem.labels, problem.slope, weights)

        def report(self, losses):
            return losses

    x, direction = tokens(), jnp.arange(float(DIM))
    for learner in ("mlp", "zero-linear"):
        start, task, optimizer = make(learner, "plain")
        weighted = Weighted(task, direction)
        problem = task(x)
        first = mttt.inner_loop(start, task, optimizer, mttt.FullBatch(0), x).carry.learner

        def loss(f, problem=problem):
            return jnp.sum(jnp.abs(x @ direction) * problem.losses(f(problem.inputs), problem.targets)) / len(x)

        expected = jax.tree.map(lambda w, g: w - g, first, jax.grad(loss)(first))
        for batching in (mttt.FullBatch(1), mttt.MiniBatches(1)):
            got = mttt.inner_loop(start, weighted, optimizer, batching, x).carry.learner
            assert relative_error(got, expected) < 1e-12
