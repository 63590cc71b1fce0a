"""Rates of tokens where all of them are learned at once."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import DIM, HEADS, WIDTH, N, build, relative_error, shake, tokens

TASK = partial(mttt.KeyValue, norm=True, residual=True, output_norm=True)


def parts(learner=mttt.MLPLearner):
    def draw(keys):
        return learner(WIDTH, key=keys[0]), TASK(DIM, WIDTH, key=keys[1]), mttt.GatedRates(DIM, WIDTH, key=keys[2])

    return shake(eqx.filter_jit(draw)(jax.random.split(jax.random.key(3), 3)), 0.1)


def test_a_step_descends_on_the_sum_of_gated_losses(float64):
    learner, task, rates = parts()
    x, rate = tokens(), 0.3
    adjoints = [mttt.Recompute(), mttt.Recompute(block=2), mttt.Keep()]

    def loss(learner, rates):
        problem = task(x)
        gates = jax.nn.sigmoid(x @ rates.gate.dense.weight + rates.gate.dense.bias[None, :])[:, 0]
        return jnp.sum(gates * problem.losses(learner(problem.inputs), problem.targets))

    def by_hand(learner, rates):
        return jax.tree.map(lambda w, g: w - rate * g, learner, jax.grad(loss)(learner, rates))

    def by_loop(adjoint, learner, rates):
        optimizer = mttt.GradientDescent(rate)
        found = mttt.inner_loop(
            mttt.Trained(learner), task, optimizer, mttt.FullBatch(1), x, rates=rates, adjoint=adjoint
        )
        return found.carry.learner

    def probe(run, *given):
        number = lambda *given: sum(jnp.sum(jnp.sin(w)) for w in jax.tree.leaves(run(*given)))  # noqa: E731
        return jax.value_and_grad(number, argnums=(0, 1))(*given)

    @jax.jit
    def every(*given):
        return probe(by_hand, *given), [probe(partial(by_loop, adjoint), *given) for adjoint in adjoints]

    expected, found = every(learner, rates)
    for got in found:
        assert relative_error(got, expected) < 1e-12


@pytest.mark.parametrize("start", [mttt.Trained, mttt.Zeros])
def test_mean_rates_are_no_rates_and_gates_work_from_zero(start, float64):
    learner, task, gates = parts(learner=mttt.LinearLearner)
    x, optimizer, batching = tokens(), mttt.GradientDescent(0.3), mttt.MiniBatches(3)

    def run(rates, begin=start):
        key = jax.random.key(0)
        found = mttt.inner_loop(begin(learner), task, optimizer, batching, x, rates=rates, losses=True, key=key)
        return found.carry.learner, found.losses

    def every():
        pairs = [(run(mttt.MeanRates(DIM, WIDTH)), run(None))]
        if start is mttt.Zeros:  # its cheap first step against the general one
            zero = jax.tree.map(jnp.zeros_like, learner)
            pairs.append((run(gates), run(gates, lambda _: mttt.Trained(zero))))
        return pairs

    for got, expected in jax.jit(every)():
        assert relative_error(got, expected) < 1e-12


def test_a_layer_has_rates_of_its_own_in_every_head(float64):
    make = partial(mttt.TTT, learner=mttt.MLPLearner, task=TASK, rates=partial(mttt.GatedRates, scale=0.1))
    layer, x = build(make, DIM, HEADS), tokens()
    assert layer.rates.gate.dense.weight.shape == (HEADS, DIM, 1)

    def total(layer, x):
        out = layer(x).tokens
        return jnp.sum(jnp.sin(out)), out

    @jax.jit
    def every(layer, x):
        more = jnp.concatenate([x, 1e3 * jnp.ones((2, DIM))])
        padded = layer(more, mask=jnp.arange(N + 2) < N).tokens
        return *jax.grad(total, has_aux=True)(layer, x), padded

    gradient, out, padded = every(layer, x)
    assert all(np.all(np.asarray(leaf)) for leaf in jax.tree.leaves(gradient.rates))
    # Padding is not learned, and the sum does not count it.
    assert relative_error(padded[:N], out) < 1e-12


@pytest.mark.parametrize(
    "options",
    [{}, {"norm": True, "residual": True}, {"unit": True, "output_norm": True, "loss": mttt.DotLoss()}],
    ids=["plain", "2024", "dot"],
)
def test_keys_and_values_are_learned_from_all_tokens_at_once(options, float64):
    """The layer, written out for one head: learn every key's value, then answer every query."""
    make = partial(mttt.TTT, learner=mttt.MLPLearner, task=partial(mttt.KeyValue, **options))
    layer, x = build(make, DIM, 1), tokens()

    @jax.jit
    def both(layer, x):
        return layer(x).tokens, written_out(layer, x, options)

    assert relative_error(*both(layer, x)) < 1e-12


def written_out(layer, x, options):
    psi, task, learner = jax.tree.map(lambda leaf: leaf[0], (layer.psi, layer.task, layer.start.learner))
    unit = lambda rows: rows / jnp.sqrt(jnp.sum(rows**2, 1, keepdims=True) + 1e-6) if "unit" in options else rows  # noqa: E731
    queries, keys = (unit(x @ view.weight + view.bias[None, :]) for view in (psi, task.key))
    values = x @ task.value.weight + task.value.bias[None, :]
    targets = values - keys if "residual" in options else values
    norm = (lambda rows: rows) if task.norm is None else task.norm

    def loss(learner):
        answers = norm(learner(keys))
        each = -answers * targets if "loss" in options else 0.5 * (answers - targets) ** 2
        return jnp.mean(jnp.sum(each, axis=1))

    answers = norm(jax.tree.map(jnp.subtract, learner, jax.grad(loss)(learner))(queries))
    answers = answers if task.output_norm is None else task.output_norm(answers)
    outputs = queries + answers if "residual" in options else answers
    return outputs @ layer.merge.weight[0] + layer.merge.bias[None, :]


@pytest.mark.parametrize("rates", [mttt.DecayingRates, partial(mttt.PlacedRates, size=4)])
def test_rates_that_go_by_order_are_refused(rates):
    with pytest.raises(ValueError, match=r"Rates go by the order of tokens, and TTT learns from all of them at once"):
        eqx.filter_eval_shape(mttt.TTT, DIM, HEADS, learner=mttt.MLPLearner, rates=rates, key=jax.random.key(0))
