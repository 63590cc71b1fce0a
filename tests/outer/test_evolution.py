"""Evolution strategies: an estimate of the gradient that agrees with it, and needs none."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mttt
from catalogue import relative_error, shake
from mttt.nn.roles import Fixed
from mttt.outer import EvolutionStrategies, ExactGradient, Judged, Objective, Score, State, train_step
from outer.rows import CLASSIFICATION, Rows, noise

DIM = 6


class Bowl(eqx.Module):
    """Parameters, and one that is not trained."""

    weight: jax.Array
    fixed: Fixed


class Squares(Objective):
    """Σ over rows of ½‖A(w − x)‖²: its gradient is known, and it is quadratic, so the estimate has no bias."""

    matrix: jax.Array

    def prepare(self, batch, *, key):
        return batch

    def count(self, rows):
        return jnp.sum(rows.weights)

    def __call__(self, model, rows, *, key):
        losses = 0.5 * jnp.sum(((model.weight - rows.inputs) @ self.matrix.T) ** 2, axis=1)
        return Score(jnp.sum(losses * rows.weights), jnp.sum(rows.weights) / 2, jnp.sum(rows.weights))

    def measure(self, model, batch):
        return Judged(self(model, batch, key=None), None)


def bowl():
    rng = np.random.default_rng(0)
    model = Bowl(jnp.asarray(rng.normal(size=(1, DIM))), Fixed(jnp.ones(3)))
    rows = Rows(jnp.asarray(rng.normal(size=(4, DIM))), jnp.zeros(4, jnp.int32), jnp.array([1.0, 1.0, 1.0, 0.0]))
    return Squares(jnp.asarray(rng.normal(size=(DIM, DIM)) / 2)), model, rows


def test_the_estimate_is_the_gradient_within_its_standard_error(float64):
    """For a quadratic and normal noise, the error's mean square is known: (d + 1)·‖∇‖² / pairs."""
    objective, model, rows = bowl()
    matrix, weights = np.asarray(objective.matrix), np.asarray(rows.weights)
    centre = weights @ np.asarray(rows.inputs) / weights.sum()
    gradient = matrix.T @ matrix @ (np.asarray(model.weight)[0] - centre)
    for pairs in (50, 800):
        rule = EvolutionStrategies(optax.sgd(1.0), pairs=pairs, sigma=0.3)
        run = jax.jit(lambda key, rule=rule: rule.estimate(objective, model, rows, key)[0].weight[0])
        errors = np.array([run(key) for key in jax.random.split(jax.random.key(1), 40)]) - gradient
        ratio = (errors**2).sum(axis=1).mean() / ((DIM + 1) * (gradient**2).sum() / pairs)
        assert 0.7 < ratio < 1.4, (pairs, ratio)  # 40 draws: within 16 % by a standard error
        bias = errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(40))
        assert np.abs(bias).max() < 4


def test_the_score_is_the_mean_of_the_perturbed_models(float64):
    objective, model, rows = bowl()
    rule = EvolutionStrategies(optax.sgd(1.0), pairs=3, sigma=1e-4)
    _, score = rule.estimate(objective, model, rows, jax.random.key(0))
    assert float(score.loss) == pytest.approx(float(objective(model, rows, key=None).loss), rel=1e-4)
    assert (float(score.correct), float(score.count)) == pytest.approx((1.5, 3.0))


def test_steps_are_repeatable_and_leave_what_is_frozen(float64):
    objective, model, rows = bowl()
    rule = EvolutionStrategies(optax.sgd(0.1, momentum=0.9), pairs=4, sigma=0.1)
    run = jax.jit(lambda key: rule.step(objective, model, rule.init(model), rows, key).model)
    one, again, other = run(jax.random.key(0)), run(jax.random.key(0)), run(jax.random.key(1))
    np.testing.assert_array_equal(one.weight, again.weight)
    assert (np.asarray(one.weight) != np.asarray(other.weight)).any()
    np.testing.assert_array_equal(one.fixed.module, model.fixed.module)


def test_on_a_model_with_inner_loops_it_points_where_the_exact_gradient_does(float64):
    """The cosine of estimate and gradient is √(pairs / (pairs + d + 1)) for d parameters."""
    mixer = partial(mttt.TTT, learner=mttt.MLPLearner, start=mttt.Frozen)
    vit = partial(mttt.ViT, (4, 4, 1), 3, size=mttt.Size(4, 1, 2), patch=2, mixer=mixer)
    model = shake(eqx.filter_jit(lambda key: vit(key=key))(jax.random.key(0)), scale=0.3)
    rows, pairs = noise(6, 4, 3), 1500
    with jax.numpy_dtype_promotion("standard"):
        exact = ExactGradient(optax.sgd(1.0))
        rule = EvolutionStrategies(optax.sgd(1.0), pairs=pairs, sigma=1e-3)
        key = jax.random.key(1)
        new = eqx.filter_jit(lambda m: exact.step(CLASSIFICATION, m, exact.init(m), rows, key).model)(model)
        found, _ = eqx.filter_jit(lambda m: rule.estimate(CLASSIFICATION, m, rows, key))(model)
    trained = eqx.filter(model, mttt.trainable(model))
    gradient = jax.tree.map(lambda a, b: a - b, trained, eqx.filter(new, mttt.trainable(model)))
    a, b = (np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)]) for tree in (gradient, found))
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    expected = np.sqrt(pairs / (pairs + a.size + 1))
    assert abs(cosine - expected) < 0.05, (cosine, expected, a.size)
    assert abs(a @ b / (a @ a) - 1) < 0.15


@jax.custom_vjp
def _once(x):
    return jnp.tanh(x)


# The backward pass leaves JAX: there is a gradient, and it has none itself.
def _backward(x, cotangent):
    slope = lambda x, c: np.asarray(c * (1 - np.tanh(x) ** 2), np.asarray(x).dtype)  # noqa: E731
    return (jax.pure_callback(slope, jax.ShapeDtypeStruct(x.shape, x.dtype), x, cotangent, vmap_method="sequential"),)


_once.defvjp(lambda x: (jnp.tanh(x), x), _backward)


class Once(eqx.Module):
    """A learner that can be differentiated once: enough for its inner loop, not for the outer one's gradient."""

    weight: jax.Array

    def __init__(self, width, *, key):
        self.weight = jax.random.normal(key, (width, width)) / width

    def __call__(self, inputs, *, key=None):
        return _once(inputs @ self.weight.T)


def test_it_trains_a_learner_that_cannot_be_differentiated_twice():
    vit = partial(mttt.ViT, (4, 4, 1), 2, size=mttt.Size(4, 1, 1), patch=2, mixer=partial(mttt.TTT, learner=Once))
    model = eqx.filter_jit(lambda key: vit(key=key))(jax.random.key(0))
    light = np.array([0, 255] * 4, np.uint8)  # dark or light: what there is to learn
    rows = Rows(
        np.broadcast_to(light[:, None, None, None], (8, 4, 4, 1)), (light > 0).astype(np.int32), np.ones(8, "f")
    )
    rule, key = EvolutionStrategies(optax.adam(0.05), pairs=8, sigma=0.05), jax.random.key(0)
    with jax.numpy_dtype_promotion("standard"):
        exact = ExactGradient(optax.sgd(1.0))
        with pytest.raises(ValueError, match="JVP"):
            eqx.filter_eval_shape(lambda m: exact.step(CLASSIFICATION, m, exact.init(m), rows, key).model, model)
        state = State(model, rule, key=key)
        step = eqx.filter_jit(lambda s: train_step(s, rows, objective=CLASSIFICATION, rule=rule))
        losses = []
        for _ in range(25):
            state = step(state.reset_totals())
            losses.append(float(state.totals.loss) / 8)
    assert losses[-1] < 0.3 < 0.6 < losses[0]
    assert relative_error(state.model.stack.blocks.mixer.start, model.stack.blocks.mixer.start) > 0


@pytest.mark.parametrize(("options", "words"), [({"pairs": 0}, "pairs=0"), ({"sigma": 0.0}, r"sigma=0\.0")])
def test_impossible_settings_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        EvolutionStrategies(optax.sgd(1.0), **({"pairs": 1, "sigma": 0.1} | options))
