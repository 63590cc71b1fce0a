"""Which tokens a step sees."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mttt
from catalogue import WIDTH, relative_error, tokens
from inner.test_loop import make, run
from mttt.inner.batching import permute


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 30), steps=st.integers(0, 30), seed=st.integers(0, 5))
def test_mini_batches_use_every_token_once(n, steps, seed):
    batching = mttt.MiniBatches(steps)
    if steps > n:
        with pytest.raises(ValueError, match=f"at most {n}"):
            batching.split(n, None)
        return
    order, phases = batching.split(n, jax.random.key(seed))
    assert sum(steps for steps, _ in phases) == steps
    if steps:
        assert sum(steps * m for steps, m in phases) == n
        assert max(m for _, m in phases) - min(m for _, m in phases) <= 1
        assert (order is None) == (steps == 1)
    if order is not None:
        np.testing.assert_array_equal(np.sort(order), np.arange(n))


def test_a_key_makes_the_split_random_and_none_makes_it_fixed():
    batching = mttt.MiniBatches(2)
    order = lambda key: np.asarray(batching.split(20, key).order)  # noqa: E731
    assert (order(None) == order(None)).all()
    assert (order(jax.random.key(1)) == order(jax.random.key(1))).all()
    assert (order(jax.random.key(1)) != order(jax.random.key(2))).any()
    assert (order(None) != np.arange(20)).any()


def test_permuting_is_indexing():
    x, order = tokens(), jax.random.permutation(jax.random.key(0), 7)
    weights = tokens(seed=2)
    got = jax.value_and_grad(lambda x: jnp.sum(weights * jnp.sin(permute(x, order))))(x)
    expected = jax.value_and_grad(lambda x: jnp.sum(weights * jnp.sin(x[order])))(x)
    assert relative_error(got, expected) < 1e-6


def test_one_mini_batch_is_the_full_batch(float64):
    parts, x = make("mlp", "normalised"), tokens()
    mini = eqx.filter_jit(run)(parts, mttt.MiniBatches(1), x, losses=True)
    full = eqx.filter_jit(run)(parts, mttt.FullBatch(1), x, losses=True)
    assert relative_error(mini, full) < 1e-14


def test_mini_batches_are_steps_on_their_own_tokens(float64):
    """A ragged split, done by hand: one step at a time on the rows that the batching names, mean over those rows."""
    parts, x = make("mlp", "normalised"), tokens()

    @eqx.filter_jit
    def both(parts, x):
        got = run(parts, mttt.MiniBatches(3), x).learner
        learner, task, optimizer = parts
        order, phases = mttt.MiniBatches(3).split(len(x), jax.random.key(3))
        assert phases == ((1, 3), (2, 2))
        for rows in (order[:3], order[3:5], order[5:]):
            learner = mttt.inner_loop(learner, task, optimizer, mttt.FullBatch(1), x[rows]).learner
        return got, learner

    assert relative_error(*both(parts, x)) < 1e-12


def test_negative_steps_are_refused():
    with pytest.raises(ValueError, match="steps=-1"):
        mttt.FullBatch(-1)


def test_many_steps_do_not_grow_the_program():
    (learner, task, _), x = make("linear", "plain"), tokens()
    parts = learner, task, mttt.GradientDescent(0.01)
    arrays, rest = eqx.partition((parts, x), eqx.is_array)

    def lowered(steps):
        def f(arrays):
            parts, x = eqx.combine(arrays, rest)
            return run(parts, mttt.FullBatch(steps), x).learner(x[:, :WIDTH])

        return jax.jit(f).lower(arrays).as_text()

    assert len(lowered(1000)) < 1.1 * len(lowered(10))
    out = eqx.filter_jit(run)(parts, mttt.FullBatch(1000), x).learner(x[:, :WIDTH])
    assert bool(jnp.all(jnp.isfinite(out)))
