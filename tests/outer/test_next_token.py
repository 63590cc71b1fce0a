"""Predicting the next token."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mttt
from mttt.outer import ExactGradient, NextToken, evaluate
from outer.rows import Rows
from running import Running

OBJECTIVE = NextToken(lambda inputs: jnp.asarray(inputs)[..., :-1])


class Table(eqx.Module):
    """Logits of the next token by the one before alone."""

    rows: Any

    def __call__(self, tokens, *, key=None):
        return self.rows[tokens]

    def trace(self, tokens):
        return self(tokens), None


def batch(size=4, n=5, weights=None):
    tokens = np.random.default_rng(0).integers(0, 6, (size, n + 1)).astype(np.uint8)
    weights = np.ones(size, np.float32) if weights is None else np.array(weights, np.float32)
    return Rows(tokens, np.zeros(size, np.int32), weights)


def model():
    return Table(jnp.asarray(np.random.default_rng(1).normal(size=(6, 6)), jnp.float32))


def by_hand(rows):
    """Loss and hit of every row at every place."""
    table = np.asarray(model().rows, np.float64)
    losses, hits = np.zeros(rows.inputs[:, 1:].shape), np.zeros(rows.inputs[:, 1:].shape)
    for row, tokens in enumerate(rows.inputs):
        for place in range(len(tokens) - 1):
            logits = table[tokens[place]]
            losses[row, place] = math.log(np.exp(logits).sum()) - logits[tokens[place + 1]]
            hits[row, place] = logits.argmax() == tokens[place + 1]
    return losses, hits


def test_the_loss_is_the_mean_over_places_and_rows_of_weight_0_do_not_count():
    rows = batch(weights=[1, 0, 1, 1])
    losses, hits = by_hand(rows)
    score = OBJECTIVE(model(), rows, key=None)
    kept = [0, 2, 3]
    assert float(score.loss) == pytest.approx(losses[kept].mean(axis=1).sum(), rel=1e-5)
    assert float(score.correct) == pytest.approx(hits[kept].mean(axis=1).sum(), rel=1e-5)
    assert float(score.count) == float(OBJECTIVE.count(rows)) == 3


def test_evaluation_tells_the_loss_by_position_and_bits():
    rows = batch(weights=[1, 1, 0, 1])
    losses, hits = by_hand(rows)
    kept = [0, 1, 3]
    found = evaluate(
        model(), [Rows(*(part[:2] for part in rows)), Rows(*(part[2:] for part in rows))], objective=OBJECTIVE
    )
    np.testing.assert_allclose(found.by_position, losses[kept].mean(axis=0), rtol=1e-5)
    assert found.loss == pytest.approx(losses[kept].mean(), rel=1e-5)
    assert found.bits == pytest.approx(losses[kept].mean() / math.log(2), rel=1e-5)
    assert found.accuracy == pytest.approx(hits[kept].mean(), rel=1e-5)
    assert found.examples == 3 and found.answers is None


def test_a_language_model_learns_a_text_by_heart():
    rows = batch(size=2, n=7)
    rule = ExactGradient(optax.adam(1e-2))
    lm = mttt.LM(vocabulary=6, size=mttt.Size(16, 1, 1), mixer=Running, key=jax.random.key(0))
    state, scores = rule.init(lm), []
    step = eqx.filter_jit(rule.step)
    with jax.numpy_dtype_promotion("standard"):
        for _ in range(80):
            lm, state, score, _ = step(OBJECTIVE, lm, state, rows, jax.random.key(0))
            scores.append(float(score.loss) / 2)
    assert scores[0] == pytest.approx(math.log(6), abs=0.05)  # nothing is known at first
    assert scores[-1] < 0.5
