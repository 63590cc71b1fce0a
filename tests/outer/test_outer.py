"""The outer loop: loss, optimizer, step, evaluation, self-check."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mttt
from catalogue import relative_error, shake, ttt
from mttt.nn import kernels, trainable
from mttt.outer import (
    Classification,
    ExactGradient,
    NothingToEvaluate,
    Program,
    State,
    WrongNumbers,
    constant_schedule,
    evaluate,
    outer_optimizer,
    schedule,
    score,
    self_check,
    train_step,
)
from mttt.outer.state import NEVER
from outer.rows import CLASSIFICATION, Rows, noise as batch, read


@pytest.fixture(autouse=True)
def promotion():
    """Optax promotes dtypes implicitly."""
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture(scope="module")
def model():
    vit = partial(mttt.ViT, (8, 8, 1), 10, size=mttt.Size(8, 2, 2), patch=4, mixer=ttt())
    return shake(eqx.filter_jit(lambda key: vit(key=key))(jax.random.key(0)), scale=0.1)


def optimizer(**changes):
    options = {"peak": 0.1, "decay": 0.0, "clip": 1e9} | changes
    return outer_optimizer(lambda step: options["peak"], **options)


def copied(model):
    """A program's state is gone after its step; its arrays may be no other test's."""
    return jax.tree.map(lambda a: jnp.array(a) if eqx.is_array(a) else a, model)


@pytest.fixture(scope="module")
def descent(model):
    """Plain descent: one program for all tests that take the same step."""
    rule = ExactGradient(optax.sgd(1.0))
    shapes = eqx.filter_eval_shape(lambda: State(model, rule, key=jax.random.key(1)))
    program = Program(shapes, objective=CLASSIFICATION, rule=rule)

    def step(model, batch):
        before = State(copied(model), rule, key=jax.random.key(1))
        new, done = program(before, batch)
        return before, new, done

    return program, step


@pytest.fixture(scope="module")
def descended(model, descent):
    """One step from the model."""
    with jax.numpy_dtype_promotion("standard"):
        return descent[1](model, batch())


def stepped(model, optimizer, batch, objective=CLASSIFICATION, accumulate=1):
    rule = ExactGradient(optimizer, accumulate)
    state = State(model, rule, key=jax.random.key(1))
    return eqx.filter_jit(lambda s, b: train_step(s, b, objective=objective, rule=rule))(state, batch)


def test_the_loss_is_cross_entropy_and_fillers_do_not_count():
    logits = jnp.array([[2.0, 0.0, -1.0], [0.0, 1.0, 3.0], [9.0, 9.0, 9.0]])
    scored = score(logits, jnp.array([0, 1, 2]), jnp.array([1.0, 1.0, 0.0]))
    expected = -np.log(np.exp(2) / (np.exp(2) + 1 + np.exp(-1))) - np.log(np.e / (1 + np.e + np.exp(3)))
    assert abs(float(scored.loss) - expected) < 1e-5
    assert (float(scored.correct), float(scored.count)) == (1.0, 2.0)


def test_only_kernels_decay_and_the_kernels_of_w0_are_among_them(model):
    marked = kernels(eqx.filter(model, eqx.is_inexact_array))
    names = {jax.tree_util.keystr(path): value for path, value in jax.tree_util.tree_flatten_with_path(marked)[0]}
    assert {name for name, value in names.items() if value} == {
        ".embed.dense.weight",
        ".stack.blocks.mixer.psi.weight",
        ".stack.blocks.mixer.task.phi.weight",
        ".stack.blocks.mixer.task.g.weight",
        ".stack.blocks.mixer.start.learner.up.weight",
        ".stack.blocks.mixer.start.learner.down.weight",
        ".stack.blocks.mixer.merge.weight",
        ".stack.blocks.mlp.up.weight",
        ".stack.blocks.mlp.down.weight",
        ".head.pre_logits.weight",
        ".head.logits.weight",
    }


def test_decay_is_decoupled_and_follows_the_rate():
    params = {"weight": jnp.ones(3), "bias": jnp.ones(3)}
    rate = schedule(peak=0.5, warmup=2, steps=10)
    rule = outer_optimizer(rate, peak=0.5, decay=0.01, clip=1.0)
    state = rule.init(params)
    zero = jax.tree.map(jnp.zeros_like, params)
    for step in range(4):
        updates, state = rule.update(zero, state, params)
        assert abs(float(updates["weight"][0]) + 0.01 * float(rate(step)) / 0.5) < 1e-7
        assert float(updates["bias"][0]) == 0


def test_the_schedule_warms_up_and_ends_at_zero():
    rate = schedule(peak=2.0, warmup=5, steps=20)
    assert [float(rate(s)) for s in (0, 5, 20)] == pytest.approx([0.0, 2.0, 0.0], abs=1e-6)
    assert float(rate(2)) == pytest.approx(0.8)
    assert float(rate(12)) == pytest.approx(1 + np.cos(np.pi * 7 / 15), abs=1e-5)


def test_a_constant_rate_warms_up_and_does_not_know_the_end():
    rate = constant_schedule(peak=2.0, warmup=5)
    assert [float(rate(s)) for s in (0, 2, 5, 6, 10**6)] == pytest.approx([0.0, 0.8, 2.0, 2.0, 2.0])
    assert float(constant_schedule(peak=2.0, warmup=0)(0)) == 2.0


def test_clipping_and_the_moment_in_bfloat16():
    params = {"weight": jnp.zeros(4)}
    rule = outer_optimizer(lambda _: 1.0, peak=1.0, decay=0.0, clip=1.0, bfloat16_moment=True)
    _, state = rule.update({"weight": jnp.full(4, 100.0)}, rule.init(params), params)
    moment = optax.tree.get(state, "mu")["weight"]
    assert moment.dtype == jnp.bfloat16
    assert float(moment[0]) == pytest.approx(0.1 * 0.5, rel=1e-2)  # clipped to norm 1


def test_a_step_is_the_gradient_of_the_mean_loss(model, descended):
    """Plain descent as optimizer: the update is −gradient, taken here by hand from the logits."""
    data = batch()

    def loss(model):
        images = jnp.asarray(data.inputs, jnp.float32) / 127.5 - 1
        log_p = jax.nn.log_softmax(jax.vmap(model)(images))
        return -jnp.mean(log_p[jnp.arange(12), data.labels])

    gradient = eqx.filter_jit(eqx.filter_grad(loss))(model)
    before, after = (eqx.filter(m, eqx.is_inexact_array) for m in (model, descended[1].model))
    update = jax.tree.map(lambda a, b: a - b, before, after)
    assert relative_error(update, gradient) < 1e-4


def test_accumulation_is_the_same_step(model, descended):
    whole, descent = descended[1], optax.sgd(1.0)
    parts = stepped(model, descent, batch(), accumulate=3)
    assert relative_error(parts.model, whole.model) < 1e-5
    assert relative_error(parts.totals, whole.totals) < 1e-5
    assert int(parts.step) == 1
    with pytest.raises(ValueError, match="accumulate=5 does not divide a batch of 12"):
        stepped(model, descent, batch(), accumulate=5)


def test_bfloat16_steps_keep_float32_parameters(model, descended):
    half = Classification(lambda inputs: read(inputs).astype(jnp.bfloat16))
    new = stepped(model, optimizer(), batch(), half)
    parameters = jax.tree.leaves(eqx.filter(new.model, eqx.is_inexact_array))
    assert {leaf.dtype for leaf in parameters} == {jnp.dtype("float32")}
    assert abs(float(new.totals.loss / descended[1].totals.loss) - 1) < 0.02  # of the same model: before the step


def test_what_is_frozen_stays_and_has_no_optimizer_state():
    mixer = partial(mttt.TTT, learner=mttt.MLPLearner, start=mttt.Frozen)
    vit = partial(mttt.ViT, (8, 8, 1), 10, size=mttt.Size(8, 1, 2), patch=4, mixer=mixer)
    model = eqx.filter_jit(lambda key: vit(key=key))(jax.random.key(0))
    rule = optimizer(decay=0.01)
    new = stepped(model, rule, batch())
    assert relative_error(new.model.stack.blocks.mixer.start, model.stack.blocks.mixer.start) == 0
    assert relative_error(new.model.stack.blocks.mixer.psi, model.stack.blocks.mixer.psi) > 0
    trained = len(jax.tree.leaves(eqx.filter(model, trainable(model))))
    assert len(jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))) == trained + 4


def test_a_step_that_is_not_finite_is_remembered(model, descent, descended):
    bad = eqx.tree_at(lambda m: m.head.logits.bias, model, replace_fn=lambda bias: jnp.full_like(bias, jnp.nan))
    assert int(descent[1](bad, batch())[1].broken) == 1
    assert int(descended[1].broken) == NEVER


def test_a_program_reuses_memory(descent, descended):
    """That it is the step, the gradient by hand and the parts of a batch say."""
    before, new, done = descended
    assert (int(done), int(new.step)) == (1, 1)
    assert before.model.head.logits.bias.is_deleted()
    descent[0].lower(batch())  # without a state


def parts(rows, size):
    """Batches of one size; the last is filled up with rows of weight 0."""
    for start in range(0, len(rows.labels), size):
        cut = [a[start : start + size] for a in rows]
        yield Rows(*(np.concatenate([a, np.zeros((size - len(a), *a.shape[1:]), a.dtype)]) for a in cut))


def test_evaluation_does_not_depend_on_the_batches(model):
    rows = batch(50)
    results = [evaluate(model, parts(rows, size), objective=CLASSIFICATION) for size in (50, 17)]
    assert results[0].accuracy == results[1].accuracy
    assert results[0].examples == results[1].examples == 50
    assert results[0].loss == pytest.approx(results[1].loss, rel=1e-5)
    np.testing.assert_allclose(results[0].inner_losses, results[1].inner_losses, rtol=1e-5)
    assert np.shape(results[0].per_layer()) == (2, 2)
    for result in results:  # rows that only fill a batch up have no answer
        assert result.answers.labels.tolist() == rows.labels.tolist()
        assert np.mean(result.answers.labels == result.answers.predicted) == pytest.approx(result.accuracy)
    record = results[0].record()
    assert (record["examples"], record["accuracy"]) == (50, results[0].accuracy)
    assert results[0]._replace(loss=float("nan")).record()["loss"] is None
    with pytest.raises(NothingToEvaluate, match="nothing to evaluate on"):
        evaluate(model, [batch(50, weights=np.zeros(50))], objective=CLASSIFICATION)


def test_the_self_check_passes_here_and_refuses_a_wrong_compiler(monkeypatch):
    self_check()
    right = jax.jit
    monkeypatch.setattr(jax, "jit", lambda f: right(lambda *a: f(*a).at[40:].set(0.0)))
    with pytest.raises(WrongNumbers, match="Install a version that is right"):
        self_check()
