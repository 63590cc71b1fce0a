"""Where learning begins, and that it can go on."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest

import mttt
from catalogue import DIM, WIDTH, build, relative_error, tokens
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
    velocity = None

    def update(t, w, gradient):
        nonlocal velocity
        velocity = 0.9 * velocity + gradient
        return w - 0.3 * velocity

    optimizer = mttt.OptaxOptimizer(optax.sgd, learning_rate=0.3, momentum=0.9)

    @jax.jit
    def both(x):
        nonlocal velocity
        pairs = []
        for steps in (1, 3):
            velocity = jnp.zeros((WIDTH, WIDTH))
            pairs.append(
                (run((start, made, optimizer), mttt.FullBatch(steps), x).carry, descend(made, x, steps, update))
            )
        return pairs

    for steps, (got, expected) in zip((1, 3), both(tokens()), strict=True):
        assert relative_error(got.learner.weight, expected) < 1e-12
        assert int(got.t) == steps


@pytest.mark.parametrize("task", ["plain", "normalised"])
def test_from_zeros_with_a_rate_for_each_step(float64, task):
    start, made, _ = make("zero-linear", task)
    rates = jnp.array([1.0, 0.25, 0.5])

    @jax.jit
    def both(x):
        got = run((start, made, mttt.GradientDescent(rates)), mttt.FullBatch(3), x).carry.learner.weight
        return got, descend(made, x, 3, lambda t, w, g: w - rates[t] * g)

    got, expected = both(tokens())
    assert relative_error(got, expected) < 1e-12


@pytest.mark.parametrize("learner", ["mlp", "frozen-mlp", "zero-linear"])
@pytest.mark.parametrize("optimizer", ["per-step", "optax"])
def test_learning_goes_on_from_a_carry(float64, learner, optimizer):
    """One step and two more are three: the weights, the optimizer's memory and t are carried."""

    @eqx.filter_jit
    def learn(parts, x):
        start, task, rule = parts
        loop = partial(mttt.inner_loop, task=task, optimizer=rule, tokens=x, losses=True)
        first = loop(start, batching=mttt.FullBatch(1))
        kept = jax.tree.map(lambda a: a, first.carry)  # it is a pytree
        return loop(start, batching=mttt.FullBatch(3)), first, loop(kept, batching=mttt.FullBatch(2))

    whole, first, rest = learn(make(learner, "normalised", optimizer), tokens())
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
    two, one = (partial(mttt.inner_loop, batching=mttt.FullBatch(steps)) for steps in (2, 1))
    trained = mttt.Trained(learner)

    def step(problem, f, t):
        key = jax.random.fold_in(jax.random.key(5), t)
        loss = lambda f: jnp.mean(problem.losses(f(problem.inputs, key=key), problem.targets))  # noqa: E731
        return jax.tree.map(lambda w, g: w - g, f, jax.grad(loss)(f))

    @jax.jit
    def learn(x):
        given = {"task": task, "optimizer": optimizer, "tokens": x}
        got = two(trained, **given, key=jax.random.key(5), losses=True)
        other = two(trained, **given, key=jax.random.key(6)).carry.learner
        zero = one(mttt.Zeros(learner), **given, key=jax.random.key(5)).carry.learner
        keyless, plain = (two(each, **given).carry.learner for each in (trained, mttt.Trained(learner.inside)))
        problem = task(x)
        by_hand = step(problem, step(problem, learner, 0), 1)
        exact = jnp.mean(problem.losses(by_hand(problem.inputs), problem.targets))
        zeros = jax.tree.map(jnp.zeros_like, learner)
        return (
            (got.carry.learner, got.losses[-1], zero, keyless.inside),
            (
                by_hand,
                exact,
                step(problem, zeros, 0),  # the first step from 0 draws, too
                plain,
            ),
            other,
        )

    got, expected, other = learn(tokens())
    for found, right in zip(got, expected, strict=True):
        assert relative_error(found, right) < 1e-12
    assert relative_error(other, expected[0]) > 1e-3


def test_the_heads_of_a_layer_draw_for_themselves():
    """Two equal heads, subtracted from each other, are nothing; unless each drew for itself."""

    def learner(width, *, key):
        return Dropout(mttt.LinearLearner(width, key=jax.random.key(0)))

    def equal(a):
        return jnp.broadcast_to(a[:1], a.shape) if eqx.is_array(a) and a.ndim > 1 else a

    layer = jax.tree.map(equal, build(partial(mttt.TTT, learner=learner), DIM, 2, scale=0.0))
    layer = eqx.tree_at(lambda m: m.merge.weight, layer, jnp.stack([jnp.ones((6, DIM)), -jnp.ones((6, DIM))]))
    same, drawn = jax.jit(lambda x: (layer(x).tokens, layer(x, key=jax.random.key(2)).tokens))(tokens())
    assert float(jnp.max(jnp.abs(same))) < 1e-5
    assert float(jnp.max(jnp.abs(drawn))) > 1e-3


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

    direction = jnp.arange(float(DIM))

    @eqx.filter_jit
    def learn(parts, x):
        start, task, optimizer = parts
        first = mttt.inner_loop(start, task, optimizer, mttt.FullBatch(0), x).carry.learner
        problem = task(x)

        def loss(f):
            return jnp.sum(jnp.abs(x @ direction) * problem.losses(f(problem.inputs), problem.targets)) / len(x)

        expected = jax.tree.map(lambda w, g: w - g, first, jax.grad(loss)(first))
        weighted = Weighted(task, direction)
        return expected, [
            mttt.inner_loop(start, weighted, optimizer, batching, x).carry.learner
            for batching in (mttt.FullBatch(1), mttt.MiniBatches(1))
        ]

    for learner in ("mlp", "zero-linear"):
        expected, found = learn(make(learner, "plain"), tokens())
        for got in found:
            assert relative_error(got, expected) < 1e-12
