"""Mixup, against its formula."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mttt
from catalogue import relative_error, shake
from mttt.outer import ExactGradient, Mixup, State, score, train_step
from mttt.outer.mixup import blend, partner_shares, rows_before
from outer.rows import CLASSIFICATION, Rows, noise


def rows(size=5, classes=3):
    rng = np.random.default_rng(0)
    images = rng.uniform(-1, 1, (size, 4, 4, 1)).astype(np.float32)
    return jnp.asarray(images), jax.nn.one_hot(jnp.arange(size) % classes, classes), jnp.ones(size)


@partial(jax.jit, static_argnames="alpha")
def mixup(images, labels, weights, *, alpha, key):
    """Images and labels of a batch, each with the row before it."""
    shares = partner_shares(rows_before(weights), alpha=alpha, key=key)
    return tuple(blend(rows, rows_before(rows), shares) for rows in (images, labels))


def test_each_row_is_mixed_with_the_one_before_it():
    images, labels, weights = rows()
    mixed, targets = mixup(images, labels, weights, alpha=0.2, key=jax.random.key(1))
    drawn = float(jax.random.beta(jax.random.key(1), 0.2, 0.2))
    own = max(drawn, 1 - drawn)
    assert 0.5 < own < 0.999  # otherwise nothing was tried
    for seen, given in [(mixed, images), (targets, labels)]:
        given = np.asarray(given)
        np.testing.assert_allclose(seen, own * given + (1 - own) * given[[-1, 0, 1, 2, 3]], atol=1e-6)
    np.testing.assert_array_equal(jnp.argmax(targets, axis=1), jnp.argmax(labels, axis=1))


def test_the_key_decides():
    images, labels, weights = rows()
    mix = lambda seed: mixup(images, labels, weights, alpha=0.2, key=jax.random.key(seed))  # noqa: E731
    for one, other in zip(mix(1), mix(1), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (np.asarray(mix(1)[0]) != np.asarray(mix(5)[0])).any()


def test_the_larger_part_is_always_the_own_and_is_distributed_as_beta():
    """Of Beta(0.2, 0.2), 61 % are beyond 0.95 or below 0.05; of Beta(1, 1), 10 %."""
    images, labels, weights = rows(2, 2)
    for alpha, expected in [(0.2, 0.61), (1.0, 0.10)]:
        part = jax.vmap(lambda key, alpha=alpha: mixup(images, labels, weights, alpha=alpha, key=key)[1][0, 0])
        own = np.asarray(part(jax.random.split(jax.random.key(0), 2000)))
        assert own.min() >= 0.5
        assert abs((own > 0.95).mean() - expected) < 0.04


def test_a_row_is_not_mixed_with_a_filler():
    images, labels, _ = rows()
    weights = jnp.array([1.0, 1.0, 0.0, 1.0, 0.0])
    mixed, targets = mixup(images, labels, weights, alpha=0.2, key=jax.random.key(1))
    for row, alone in enumerate([True, False, False, True, False]):  # the partner of row 0 is the last
        assert (np.asarray(mixed[row]) == np.asarray(images[row])).all() == alone
        assert (np.asarray(targets[row]) == np.asarray(labels[row])).all() == alone


def test_an_alpha_of_none_is_refused():
    with pytest.raises(ValueError, match=r"mixup=-0\.1: α of the Beta distribution"):
        Mixup(CLASSIFICATION, -0.1)


def test_bfloat16_stays_bfloat16():
    images, labels, weights = rows()
    mixed, targets = mixup(images.astype(jnp.bfloat16), labels, weights, alpha=0.2, key=jax.random.key(1))
    assert (mixed.dtype, targets.dtype) == (jnp.bfloat16, jnp.float32)


def test_soft_targets_are_scored_by_cross_entropy_and_accuracy_by_the_label():
    logits = jnp.array([[2.0, 0.0, -1.0], [0.0, 1.0, 3.0], [9.0, 0.0, 0.0]])
    targets = jnp.array([[0.7, 0.3, 0.0], [0.0, 0.6, 0.4], [0.5, 0.5, 0.0]])
    scored = score(logits, jnp.array([0, 1, 2]), jnp.array([1.0, 1.0, 0.0]), targets)
    log_p = np.asarray(logits) - np.log(np.exp(np.asarray(logits)).sum(axis=1, keepdims=True))
    assert abs(float(scored.loss) + (log_p * np.asarray(targets))[:2].sum()) < 1e-5
    assert (float(scored.correct), float(scored.count)) == (1.0, 2.0)


@pytest.fixture(scope="module")
def model():
    vit = partial(mttt.ViT, (4, 4, 1), 3, size=mttt.Size(8, 1, 2), patch=2, mixer=mttt.LinearAttention)
    return shake(eqx.filter_jit(lambda key: vit(key=key))(jax.random.key(0)), scale=0.1)


def test_the_objective_mixes_and_its_gradient_flows(model):
    weights = np.array([1, 1, 1, 1, 1, 0], np.float32)
    batch = noise(6, 4, 3, weights)
    key = jax.random.key(1)

    drawn = float(jax.random.beta(jax.random.split(key)[1], 0.2, 0.2))
    other = min(drawn, 1 - drawn) * np.roll(weights, 1)
    floats = batch.inputs.astype(np.float32) / 127.5 - 1
    one_hot = np.eye(3, dtype=np.float32)[batch.labels]
    mix = lambda a, w: (1 - w) * a + w * np.roll(a, 1, axis=0)  # noqa: E731
    by_hand = jnp.asarray(mix(floats, other[:, None, None, None]).astype(np.float32))
    objective = Mixup(CLASSIFICATION, 0.2)

    def loss(model):
        scored = objective(model, objective.prepare(batch, key=key), key=key)
        return scored.loss / scored.count, scored

    run = eqx.filter_jit(lambda m: (eqx.filter_value_and_grad(loss, has_aux=True)(m), jax.vmap(m)(by_hand)))
    ((mean, scored), gradient), logits = run(model)
    log_p = np.asarray(jax.nn.log_softmax(logits))
    expected = -(log_p * mix(one_hot, other[:, None])).sum(axis=1) @ weights / 5
    assert abs(float(mean) - expected) < 1e-5
    right = np.asarray(logits).argmax(axis=1) == batch.labels
    assert float(scored.correct) == right @ weights
    assert all(
        float(jnp.abs(leaf).max()) > 0 for leaf in jax.tree.leaves(eqx.filter(gradient.stack.blocks.mlp, eqx.is_array))
    )


class Draws(eqx.Module):
    """Its logits are random numbers from the key that it is given."""

    def __call__(self, image, *, key):
        return jax.random.normal(key, (3,))


def test_the_key_of_the_model_is_not_the_one_of_the_shares():
    """Plain: the step's key. With mixup: the first of its two halves; the second draws the shares."""
    batch, key = noise(2, 4, 3), jax.random.key(7)
    for objective, expected in [(CLASSIFICATION, key), (Mixup(CLASSIFICATION, 0.2), jax.random.split(key)[0])]:
        rows = objective.prepare(batch, key=key)
        alone = jax.tree.map(lambda a: jnp.asarray(a)[:1], rows)  # of one row, the accuracy shows the logits
        hits = [float(objective(Draws(), alone._replace(**_label(alone, c)), key=key).correct) for c in range(3)]
        assert int(np.argmax(hits)) == int(jnp.argmax(jax.random.normal(expected, (3,))))


def _label(rows, number):
    label = jnp.array([number], jnp.int32)
    return {"labels": label} if isinstance(rows, Rows) else {"own": rows.own._replace(labels=label)}


def test_without_mixup_nothing_is_drawn(model):
    batch = Rows(np.zeros((2, 4, 4, 1), np.uint8), np.zeros(2, np.int32), np.ones(2, np.float32))
    arrays, rest = eqx.partition(model, eqx.is_array)

    def program(objective):
        loss = lambda a, key: objective(eqx.combine(a, rest), objective.prepare(batch, key=key), key=key)  # noqa: E731
        return str(jax.make_jaxpr(loss)(arrays, jax.random.key(0)))

    assert "random_gamma" not in program(CLASSIFICATION)
    assert "random_gamma" in program(Mixup(CLASSIFICATION, 0.2))


def test_accumulated_steps_mix_alike(model):
    """Partners are rows of the whole batch, and fillers count nowhere, in however many parts it goes."""
    batch = noise(6, 4, 3, [1, 1, 1, 0, 1, 0])
    with jax.numpy_dtype_promotion("standard"):
        whole, parts = (
            eqx.filter_jit(partial(train_step, objective=Mixup(CLASSIFICATION, 0.2), rule=rule))(
                State(model, rule, key=jax.random.key(0)), batch
            )
            for rule in (ExactGradient(optax.sgd(1.0)), ExactGradient(optax.sgd(1.0), accumulate=3))
        )
    assert relative_error(whole.model, parts.model) < 1e-5
    assert relative_error(whole.model, model) > 1e-3
