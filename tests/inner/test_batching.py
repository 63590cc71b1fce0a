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
from mttt.inner.permute import permute


def rows_of(split, n):
    """The numbers of the rows that each step sees."""
    seen = []
    for phase in split.phases(jnp.arange(float(n))):
        for step in range(phase.steps):
            content, mask, count = phase.rows(jax.tree.map(lambda a, step=step: a[step], phase.each))
            rows = np.asarray(content)[slice(None) if mask is None else np.asarray(mask)].astype(int)
            assert count == max(len(rows), 1)
            seen.append(rows)
    return seen


@settings(deadline=None, max_examples=15)
@given(n=st.integers(1, 30), steps=st.integers(0, 30), seed=st.integers(0, 5))
def test_mini_batches_use_every_token_once(n, steps, seed):
    batching = mttt.MiniBatches(steps)
    if steps > n:
        with pytest.raises(ValueError, match=f"at most {n}"):
            batching.draw(n)
        return
    seen = rows_of(batching.draw(n, key=jax.random.key(seed)), n)
    assert len(seen) == steps
    if steps:
        np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(n))
        sizes = [len(rows) for rows in seen]
        assert max(sizes) - min(sizes) <= 1


def test_a_key_makes_the_split_random_and_none_makes_it_fixed():
    batching = mttt.MiniBatches(2)
    order = lambda key: np.asarray(batching.draw(20, key=key).order)  # noqa: E731
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
        got = run(parts, mttt.MiniBatches(3), x).carry
        carry, task, optimizer = parts
        order = mttt.MiniBatches(3).draw(len(x), key=jax.random.key(3)).order
        for rows in (order[:3], order[3:5], order[5:]):  # a carry goes on with other tokens
            carry = mttt.inner_loop(carry, task, optimizer, mttt.FullBatch(1), x[rows]).carry
        return got, carry

    assert relative_error(*both(parts, x)) < 1e-12


def test_negative_steps_are_refused():
    with pytest.raises(ValueError, match="steps=-1"):
        mttt.FullBatch(-1)


def test_many_steps_do_not_grow_the_program():
    (start, task, _), x = make("linear", "plain"), tokens()
    parts = start, task, mttt.GradientDescent(0.01)
    arrays, rest = eqx.partition((parts, x), eqx.is_array)

    def lowered(steps):
        def f(arrays):
            parts, x = eqx.combine(arrays, rest)
            return run(parts, mttt.FullBatch(steps), x).carry.learner(x[:, :WIDTH])

        return jax.jit(f).lower(arrays).as_text()

    assert len(lowered(1000)) < 1.1 * len(lowered(10))
    out = eqx.filter_jit(run)(parts, mttt.FullBatch(1000), x).carry.learner(x[:, :WIDTH])
    assert bool(jnp.all(jnp.isfinite(out)))
