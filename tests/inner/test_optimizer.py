"""Update rules."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mttt
from catalogue import WIDTH, relative_error, tokens
from inner.test_loop import make


def trained(optimizer, steps=3):
    start, task, _ = make("mlp", "normalised")
    train = eqx.filter_jit(mttt.inner_loop)
    return train(start, task, optimizer, mttt.FullBatch(steps), tokens()).carry.learner


def test_optax_descent_is_descent(float64):
    got = trained(mttt.OptaxOptimizer(optax.sgd, learning_rate=0.5))
    assert relative_error(got, trained(mttt.GradientDescent(0.5))) < 1e-12


def test_optax_state_is_carried_through_the_steps(float64):
    """Momentum, written by hand."""
    start, task, _ = make("mlp", "normalised")
    learner, x = start.learner, tokens()
    problem = task(x)
    velocity = jax.tree.map(jnp.zeros_like, learner)
    slope = jax.jit(jax.grad(lambda f: jnp.mean(problem.losses(f(problem.inputs), problem.targets))))
    for _ in range(3):
        gradient = slope(learner)
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradient)
        learner = jax.tree.map(lambda w, v: w - 0.5 * v, learner, velocity)
    assert relative_error(trained(mttt.OptaxOptimizer(optax.sgd, learning_rate=0.5, momentum=0.9)), learner) < 1e-11


def test_one_rate_for_each_step(float64):
    rates = jnp.array([1.0, 0.25, 0.5])
    start, task, _ = make("mlp", "normalised")
    learner, x = start.learner, tokens()
    for rate in [*rates, rates[-1]]:  # a longer loop goes on with the last rate
        one_step = eqx.filter_jit(mttt.inner_loop)
        learner = one_step(mttt.Trained(learner), task, mttt.GradientDescent(rate), mttt.FullBatch(1), x).carry.learner
    assert relative_error(trained(mttt.GradientDescent(rates), steps=4), learner) < 1e-12


def test_learned_rates_get_gradients_and_fixed_ones_are_not_parameters():
    def outer(optimizer):
        return jnp.sum(trained(optimizer)(tokens()[:, :WIDTH]) ** 2)

    gradient = eqx.filter_grad(outer)(mttt.GradientDescent(jnp.full(3, 0.5)))
    assert gradient.rate.shape == (3,)
    assert bool(jnp.all(gradient.rate != 0))
    assert jax.tree.leaves(eqx.filter(mttt.GradientDescent(0.5), eqx.is_array)) == []


def test_rates_of_any_kind_are_understood():
    assert mttt.GradientDescent(np.linspace(1, 0.5, 3)).rate.shape == (3,)
    assert mttt.GradientDescent([1.0, 0.5]).rate.shape == (2,)
    assert mttt.GradientDescent(2).rate.value == 2.0
    with pytest.raises(ValueError, match=r"a rate of shape \(2, 2\)"):
        mttt.GradientDescent(jnp.ones((2, 2)))


def test_hyper_parameters_of_optax_are_learned_if_they_are_arrays(float64):
    """The gradient by a learning rate inside Optax is that by the same rate outside."""

    def outer(optimizer):
        return jnp.sum(trained(optimizer)(tokens()[:, :WIDTH]) ** 2)

    by_optax = eqx.filter_grad(outer)(mttt.OptaxOptimizer(optax.sgd, learning_rate=jnp.asarray(0.5), momentum=0.0))
    by_hand = eqx.filter_grad(outer)(mttt.GradientDescent(jnp.asarray(0.5)))
    assert relative_error(by_optax.hyperparameters["learning_rate"], by_hand.rate) < 1e-11
    assert len(jax.tree.leaves(by_optax)) == 1, "a number is fixed"


def test_hyper_parameters_of_optax_can_be_replaced(float64):
    optimizer = mttt.OptaxOptimizer(optax.sgd, learning_rate=0.3, momentum=0.9)
    changed = eqx.tree_at(lambda o: o.hyperparameters["learning_rate"], optimizer, 0.5)
    expected = trained(mttt.OptaxOptimizer(optax.sgd, learning_rate=0.5, momentum=0.9))
    assert relative_error(trained(changed), expected) == 0


def norm(tree):
    return np.sqrt(sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(tree)))


def test_a_random_direction_has_the_length_of_the_gradient_and_nothing_else_of_it(float64):
    start, task, _ = make("mlp", "normalised")
    step = eqx.filter_jit(
        lambda optimizer, x: mttt.inner_loop(start, task, optimizer, mttt.FullBatch(1), x).carry.learner
    )
    moves = []
    for optimizer in (mttt.RandomDirection(0.5), mttt.GradientDescent(0.5)):
        for x in (tokens(), 2 * tokens()[::-1] + 1):
            moves.append(
                jax.tree.map(lambda after, before: np.asarray(after - before), step(optimizer, x), start.learner)
            )
    drawn, other, down, down_other = moves
    assert norm(drawn) == pytest.approx(norm(down), rel=1e-12)
    assert norm(other) == pytest.approx(norm(down_other), rel=1e-12)
    assert (
        relative_error(jax.tree.map(lambda u: u / norm(drawn), drawn), jax.tree.map(lambda u: u / norm(other), other))
        < 1e-12
    )
    assert relative_error(drawn, down) > 0.5
    later, _ = mttt.RandomDirection().step(jnp.ones(100), None, jnp.zeros(100), 1)
    first, _ = mttt.RandomDirection().step(jnp.ones(100), None, jnp.zeros(100), 0)
    assert abs(float(jnp.vdot(first, later))) < 50, "each step has a direction of its own"


def test_a_random_direction_of_no_gradient_is_no_step_and_has_a_derivative():
    step = lambda g: mttt.RandomDirection().step(g, None, jnp.ones(3), 0)[0]  # noqa: E731
    assert step(jnp.zeros(3)).tolist() == [1.0, 1.0, 1.0]
    assert jax.jacobian(step)(jnp.zeros(3)).tolist() == np.zeros((3, 3)).tolist()
