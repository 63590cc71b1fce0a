"""Numbers at the edge: next to nothing, very large, half as wide, twice as wide; against plain formulas in float64."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import DIM, HEADS, MIXERS, WIDTH, build, maker, relative_error, shake, to_float64, tokens
from oracles import PlainReconstruction

KEY = jax.random.key(0)


def hidden_answers(seed, scale):
    """A decoder of rank 2 and answers that it maps to nothing, but for rounding."""
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(WIDTH, 2)) @ rng.normal(size=(2, DIM))
    task = shake(mttt.Reconstruction(DIM, WIDTH, key=KEY), seed=seed)
    task = eqx.tree_at(lambda t: (t.g.weight, t.g.bias.value), task, (jnp.asarray(g, jnp.float32), jnp.zeros(DIM)))
    z = rng.normal(size=(64, WIDTH - 2)) @ np.linalg.svd(g.T)[2][2:] * scale
    return task, tokens(64, seed=seed), jnp.asarray(z, jnp.float32)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_squared_error_is_never_negative(scale):
    """Where rounding is all there is of the variance, its scaled twin was divided by it all the same: −20,000."""
    for seed in range(2):
        task, x, z = hidden_answers(seed, scale)
        problem = task(x)
        losses = problem.losses(z, problem.targets)
        assert float(jnp.min(losses)) >= 0
        with jax.enable_x64(True):
            exact = PlainReconstruction(to_float64(task))(x.astype(jnp.float64))
            expected = float(jnp.max(exact.losses(z.astype(jnp.float64), exact.targets)))
        assert float(jnp.max(losses)) < 4 * expected


def test_a_perfect_answer_has_a_loss_of_about_nothing():
    """½‖o‖² − o·x + ½‖x‖² rounds to something below 0 for half of the tokens."""
    task = mttt.Reconstruction(DIM, WIDTH, decoder_norm=False, key=KEY)
    z = 1e3 * tokens(64, WIDTH)
    problem = task(z @ task.g.weight)
    losses = problem.losses(z, problem.targets)
    assert float(jnp.min(losses)) == 0
    assert float(jnp.max(losses)) < 1e-6 * float(jnp.max(problem.targets.constant))
    slope = jax.grad(lambda z: jnp.sum(problem.losses(z, problem.targets)))(z)
    assert bool(jnp.any(slope != 0, axis=1).all()), "what is reported is bounded, not what is descended on"


def outer_gradient(parts, x, steps):
    """Of the sum of the answers by the tokens."""

    def outer(x):
        task, learner = parts
        rule = mttt.GradientDescent()
        learned = mttt.inner_loop(mttt.Trained(learner), task, rule, mttt.FullBatch(steps), x)
        return jnp.sum(learned.carry.learner(x[:, :WIDTH]))

    return np.asarray(jax.jit(jax.grad(outer))(x), np.float64)


def test_tokens_of_zeros_have_the_gradient_of_the_formula():
    """LN of a constant multiplies a gradient by ε^(−½) = 1000, more than once in every step from biases of 0.

    That is eq. 1, not the way in which it is computed: it is beyond float32 after eight steps, however it is written.
    """
    parts = mttt.Reconstruction(DIM, WIDTH, key=KEY), mttt.MLPLearner(WIDTH, key=KEY)
    got = outer_gradient(parts, jnp.zeros((7, DIM)), 2)
    with jax.enable_x64(True):
        task, learner = to_float64(parts)
        plain, zeros = (PlainReconstruction(task), learner), jnp.zeros((7, DIM))
        expected = outer_gradient(plain, zeros, 2)
        assert np.max(np.abs(outer_gradient(plain, zeros, 8))) > np.finfo(np.float32).max
    assert np.max(np.abs(expected)) > 1e6
    assert np.max(np.abs(got - expected)) < 1e-4 * np.max(np.abs(expected))


def test_constant_tokens_are_ordinary_where_biases_are_not_zero():
    layer, x = build(maker("mttt-mlp"), DIM, HEADS, name=("mttt-mlp", 7)), jnp.zeros((7, DIM))
    gradient = eqx.filter_jit(jax.grad(lambda x, layer: jnp.sum(layer(x).tokens)))(x, layer)
    assert float(jnp.max(jnp.abs(gradient))) < 1e3


@pytest.mark.parametrize("name", ["mttt-linear", "mttt-mlp"])
def test_float16_is_right_where_it_reaches(name):
    """Its largest number is 65,504. Inner loops are float32, so losses are right beyond that, too."""
    mixer = build(maker(name), DIM, HEADS, name=(name, 7))
    mix = eqx.filter_jit(lambda mixer, x: mixer(x, trace=True))
    for scale in (10.0, 100.0):
        half, full = mix(mixer, scale * tokens().astype(jnp.float16)), mix(mixer, scale * tokens())
        if scale < 100:
            assert relative_error(half.tokens.astype(jnp.float32), full.tokens) < 5e-3
        if full.losses is not None:
            assert relative_error(half.losses, full.losses) < 5e-3


@pytest.mark.parametrize("name", MIXERS)
def test_float32_tokens_with_wide_numbers_switched_on(float64, name):
    """The tokens' dtype is that of the computation, whatever the parameters were drawn in."""
    variables = eqx.filter_eval_shape(lambda: (maker(name)(DIM, HEADS, key=KEY), tokens().astype(jnp.float32)))

    def outer(variables):
        layer, x = variables
        mixed = layer(x, trace=True)
        return jnp.sum(mixed.tokens), mixed

    gradient, mixed = jax.eval_shape(jax.grad(outer, has_aux=True), variables)
    assert mixed.tokens.dtype == jnp.float32
    assert mixed.losses is None or mixed.losses.dtype == jnp.float32
    assert [a.dtype for a in jax.tree.leaves(gradient)] == [a.dtype for a in jax.tree.leaves(variables)]


@pytest.mark.parametrize("rate", [np.asarray(0.5), np.linspace(1, 0.5, 3)])
def test_learned_rates_with_wide_numbers_switched_on(float64, rate):
    def layer():
        start, rule = mttt.Zeros, mttt.GradientDescent(rate)
        return mttt.TTT(
            DIM, HEADS, learner=mttt.LinearLearner, start=start, optimizer=rule, batching=mttt.FullBatch(3), key=KEY
        )

    mixed = eqx.filter_eval_shape(lambda x: layer()(x), jax.ShapeDtypeStruct((7, DIM), jnp.float32))
    assert mixed.tokens.dtype == jnp.float32
