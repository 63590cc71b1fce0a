"""Learning while reading: fast forms and adjoints against the plain recurrence, token by token."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest

import mttt
from catalogue import build, relative_error, shake, tokens
from mttt.inner import substitution, wy
from mttt.inner.at_once import AtOnce
from mttt.inner.chunks import Chunk
from mttt.inner.dual import Dual
from mttt.inner.forms import Course
from mttt.inner.online import form_of
from mttt.inner.recurrent import Recurrent
from mttt.inner.substitution import Substitution
from mttt.inner.wy import WY
from oracles import recurrence

DIM, WIDTH, N = 6, 4, 7
KEY = jax.random.key(2)

LEARNERS = {
    "linear": mttt.LinearLearner,
    "affine": mttt.AffineLearner,
    "mlp": partial(mttt.MLPLearner, factor=2),
    "swiglu": mttt.SwiGLULearner,
}
TASKS = {
    "squared": mttt.KeyValue,
    "2024": partial(mttt.KeyValue, norm=True, residual=True),
    "dot": partial(mttt.KeyValue, loss=mttt.DotLoss(), unit=True),
    "reconstruction": mttt.Reconstruction,
}
RATES = {
    "mean": mttt.MeanRates,
    "gated": mttt.GatedRates,
    "decaying": mttt.DecayingRates,
    "placed": partial(mttt.PlacedRates, size=4),
}
OPTIMIZERS = {
    "descent": lambda: mttt.GradientDescent(0.3),
    "per-step": lambda: mttt.GradientDescent(jnp.linspace(0.5, 0.1, 3)),
    "momentum": lambda: mttt.OptaxOptimizer(optax.sgd, learning_rate=0.3, momentum=0.9),
}
# Every learner, task, rate, optimizer and chunking; every form with and without decay, if it knows both.
PRODUCTS = [
    ("linear", "squared", "gated", "descent", mttt.Chunks(1)),
    ("linear", "squared", "decaying", "descent", mttt.Chunks(1)),
    ("linear", "squared", "mean", "per-step", mttt.Chunks(1)),
    ("linear", "squared", "decaying", "descent", mttt.Chunks(4)),
    ("affine", "2024", "placed", "descent", mttt.Chunks(4)),
    ("mlp", "2024", "placed", "descent", mttt.Chunks(4)),
    ("mlp", "2024", "mean", "descent", mttt.Chunks(1)),
    ("mlp", "2024", "mean", "per-step", mttt.Chunks(1)),
    ("swiglu", "dot", "decaying", "descent", mttt.Chunks(1)),
    ("mlp", "reconstruction", "decaying", "per-step", mttt.Chunks(4)),
    ("swiglu", "dot", "decaying", "descent", mttt.AnswerThenLearn(3)),
    ("swiglu", "dot", "gated", "momentum", mttt.AnswerThenLearn(3)),
    ("mlp", "2024", "decaying", "momentum", mttt.Chunks(4)),
    ("swiglu", "2024", "decaying", "momentum", mttt.AnswerThenLearn(3)),
    ("affine", "squared", "gated", "descent", mttt.AnswerThenLearn(3)),
]
# Where steps are undone; every form with each adjoint, too. Where decay (8) and another optimizer (12) do not allow it,
# Undo is the program that Recompute is, as it is everywhere else.
UNDONE = dict.fromkeys((4, 7, 8, 12, 14), (mttt.Undo(),)) | dict.fromkeys((5, 6), (mttt.Recompute(), mttt.Undo()))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Seven tokens are several blocks, the last of them not full, for the forms that take tokens in blocks."""
    monkeypatch.setattr(wy, "BLOCK", 3)
    monkeypatch.setattr(substitution, "BLOCK", 3)


def parts_of(learner, task, rates, seed=3):
    keys = jax.random.split(jax.random.key(seed), 3)
    return shake(
        (
            LEARNERS[learner](WIDTH, key=keys[0]),
            TASKS[task](DIM, WIDTH, key=keys[1]),
            RATES[rates](DIM, WIDTH, key=keys[2]),
        ),
        scale=0.1,
    )


def summary(read):
    """A number that depends on all answers and on all of W, and its gradient by everything."""

    def number(arguments):
        answers, learner = read(*arguments)
        leaves = jax.tree.leaves(eqx.filter(learner, eqx.is_inexact_array))
        return jnp.sum(jnp.sin(answers)) + sum(jnp.sum(jnp.cos(leaf)) for leaf in leaves), answers

    return eqx.filter_jit(eqx.filter_value_and_grad(number, has_aux=True))


def online(optimizer, chunks, adjoint, mask=None):
    def read(learner, task, rates, given, queries):
        carry = mttt.Trained(learner).first(optimizer, given.dtype)
        found = mttt.online_loop(carry, task, optimizer, rates, chunks, given, queries, mask=mask, adjoint=adjoint)
        return found.answers, found.carry.learner

    return read


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: "-".join(map(str, product)))
def test_every_form_is_the_recurrence(product, float64):
    learner, task, rates, optimizer, chunks = product
    optimizer = OPTIMIZERS[optimizer]()
    arguments = (*parts_of(learner, task, rates), tokens(N, DIM), tokens(N, WIDTH, seed=2))
    plain = lambda learner, task, rates, *rest: recurrence(learner, task, rates, optimizer, chunks, *rest)  # noqa: E731
    expected = summary(plain)(arguments)
    for adjoint in UNDONE.get(PRODUCTS.index(product), (mttt.Recompute(),)):
        assert relative_error(summary(online(optimizer, chunks, adjoint))(arguments), expected) < 1e-10


@pytest.mark.parametrize(
    "product", [PRODUCTS[1], PRODUCTS[4], PRODUCTS[5], PRODUCTS[6]], ids=["wy", "linear-dual", "dual", "substitution"]
)
def test_float32_is_close_to_float64(product):
    """1e-5 of the answers and of every gradient, over four dozen tokens.

    With a rate at which learning is stable: otherwise no two roundings stay together.
    """
    learner, task, rates, _, chunks = product
    with jax.enable_x64(True):
        optimizer = mttt.GradientDescent(0.05)
        arguments = (*parts_of(learner, task, rates), tokens(48, DIM), tokens(48, WIDTH, seed=2))
        expected = summary(online(optimizer, chunks, mttt.Keep()))(arguments)
        short = jax.tree.map(lambda a: a.astype(jnp.float32) if eqx.is_inexact_array(a) else a, arguments)
        # Undo rounds wherever Recompute does, and when it walks back. WY and decay leave it nothing to do.
        assert relative_error(summary(online(optimizer, chunks, mttt.Undo()))(short), expected) < 1e-5


def test_mild_decay_keeps_its_digits_after_strong_decay():
    """Of a block of 64 tokens the first half forgets nearly all, the second half little."""
    log_decay = jnp.where(jnp.arange(64) < 32, -50.0, -0.001).astype(jnp.float32)
    nothing = jnp.zeros((64, 0), jnp.float32)
    left = Chunk(nothing, nothing, nothing[:, :0].sum(1), log_decay, nothing, None).decay()
    assert left is not None
    # What is left at token t of the step of token s, where both are in the second half.
    between = jnp.arange(32.0)[:, None] - jnp.arange(32.0)[None, :]
    expected = jnp.where(between >= 0, jnp.exp(-0.001 * between), 0)
    assert relative_error(left[1][32:, 32:], expected) < 1e-6


class Plain(mttt.TokenwiseLearner):
    """A learner of which only the plain form knows how it learns."""

    inside: mttt.TokenwiseLearner
    expansion: float = eqx.field(static=True)

    def __init__(self, inside):
        self.inside, self.expansion = inside, 1.0

    def __call__(self, inputs, *, key=None):
        return self.inside(inputs)


@pytest.mark.parametrize("product", [PRODUCTS[0], PRODUCTS[1], PRODUCTS[6]], ids=["wy", "wy-decaying", "substitution"])
def test_blocks_of_the_size_that_users_have(product, float64, monkeypatch):
    """One token more than a block of 64, and than four of 16."""
    monkeypatch.undo()
    learner, task, rates, _, chunks = product
    optimizer = mttt.GradientDescent(0.05)
    parts, given, queries = parts_of(learner, task, rates), tokens(65, DIM), tokens(65, WIDTH, seed=2)
    read = eqx.filter_jit(online(optimizer, chunks, mttt.Recompute()))
    answers, learned = read(*parts, given, queries)
    hidden = Plain(parts[0])  # the plain form, a loop that compiles faster than the oracle for so many tokens
    expected, plainly = read(hidden, *parts[1:], given, queries)
    assert relative_error((answers, learned), (expected, plainly.inside)) < 1e-10


@pytest.mark.parametrize(
    "product", [PRODUCTS[1], PRODUCTS[5], PRODUCTS[6], PRODUCTS[12]], ids=["wy", "dual", "substitution", "plain"]
)
def test_tokens_that_only_fill_the_room_change_nothing(product, float64):
    learner, task, rates, optimizer, chunks = product
    optimizer = OPTIMIZERS[optimizer]()
    parts = parts_of(learner, task, rates)
    given, queries = tokens(N, DIM), tokens(N, WIDTH, seed=2)
    longer = lambda rows: jnp.concatenate([rows, 1e3 * jnp.ones((5, rows.shape[1]))])  # noqa: E731
    mask = jnp.arange(N + 5) < N
    read = eqx.filter_jit(lambda mask, *given: online(optimizer, chunks, mttt.Keep(), mask)(*given))
    expected = read(None, *parts, given, queries)
    answers, weights = read(mask, *parts, longer(given), longer(queries))
    assert relative_error((answers[:N], weights), expected) < 1e-12


@pytest.mark.parametrize(
    ("learner", "task", "chunks", "adjoint"),
    [
        ("linear", mttt.KeyValue, mttt.Chunks(1), mttt.Recompute()),
        ("mlp", mttt.KeyValue, mttt.Chunks(1), mttt.Keep()),
        ("mlp", TASKS["2024"], mttt.Chunks(1), mttt.Undo()),
        ("mlp", mttt.KeyValue, mttt.Chunks(3), mttt.Undo()),
    ],
    ids=["wy", "substitution", "substitution-undone", "dual-undone"],
)
def test_gradients_of_gradients(learner, task, chunks, adjoint, float64):
    """Of layers with two heads, where backward passes are our own: against differences of first gradients."""
    x, aside, step = tokens(6, DIM), tokens(6, DIM, seed=5), 1e-5
    parts = {"learner": LEARNERS[learner], "task": task, "chunks": chunks, "adjoint": adjoint}
    make = partial(mttt.CausalTTT, **parts, optimizer=mttt.GradientDescent(0.3))  # of larger steps this learner is wild
    layer = build(make, DIM, 2, scale=0)
    first = jax.grad(lambda x: jnp.sum(jnp.sin(layer(x).tokens)))
    size = jax.jit(jax.value_and_grad(lambda x: jnp.sum(first(x) ** 2)))
    difference = (size(x + step * aside)[0] - size(x - step * aside)[0]) / (2 * step)
    assert float(jnp.vdot(size(x)[1], aside)) == pytest.approx(float(difference), rel=1e-6)


def test_a_learned_rate_may_be_wider_than_the_tokens():
    """Parameters of a program in 64-bit mode are float64, and its tokens may be float32."""
    for learner, chunks in (("linear", mttt.Chunks(1)), ("mlp", mttt.Chunks(1)), ("mlp", mttt.Chunks(2))):
        short = jax.tree.map(lambda a: a.astype(jnp.float32), (*parts_of(learner, "squared", "gated"), tokens(N, DIM)))
        with jax.enable_x64(True):
            for rate in (jnp.asarray(0.1), jnp.full(3, 0.1)):
                read = online(mttt.GradientDescent(rate), chunks, mttt.Recompute())
                queries = tokens(N, WIDTH).astype(jnp.float32)
                assert eqx.filter_eval_shape(read, *short, queries)[0].dtype == jnp.float32


def test_each_product_gets_its_fastest_form():
    def form(learner, task, optimizer, chunks, decays=False):
        learner, task, rates = parts_of(learner, task, "gated")
        losses = task(tokens(N, DIM)).losses
        course = Course(losses, OPTIMIZERS[optimizer](), chunks, rates.places(4))
        return type(form_of(course, learner, N, decays=decays))

    assert form("linear", "squared", "descent", mttt.Chunks(1)) is WY
    assert form("linear", "squared", "per-step", mttt.Chunks(1)) is Dual
    assert form("linear", "2024", "descent", mttt.Chunks(1)) is Substitution
    assert form("linear", "squared", "descent", mttt.AnswerThenLearn(1)) is Dual
    assert form("mlp", "squared", "descent", mttt.Chunks(1)) is Substitution
    assert form("mlp", "squared", "per-step", mttt.Chunks(1)) is Dual
    assert form("mlp", "squared", "descent", mttt.Chunks(2)) is Dual
    assert form("mlp", "squared", "momentum", mttt.Chunks(1)) is Recurrent
    assert form("mlp", "squared", "momentum", mttt.AnswerThenLearn(2)) is AtOnce
    assert form("mlp", "squared", "momentum", mttt.AnswerThenLearn(2), decays=True) is Recurrent


def test_undo_keeps_no_weights():
    """The gradient of a thousand steps holds vectors of a thousand tokens, but not a thousand copies of W."""
    n, width = 1000, 16
    learner = eqx.filter_eval_shape(mttt.MLPLearner, width, key=KEY)  # nothing runs
    task = eqx.filter_eval_shape(mttt.KeyValue, width, width, norm=True, key=KEY)
    rates, optimizer = mttt.MeanRates(width, width), mttt.GradientDescent(0.1)
    weights = sum(leaf.size for leaf in jax.tree.leaves(learner))
    given = jax.ShapeDtypeStruct((n, width), jnp.float32)

    def bytes_of(adjoint):
        read = online(optimizer, mttt.Chunks(1), adjoint)
        number = lambda learner, task, given: jnp.sum(read(learner, task, rates, given, given)[0])  # noqa: E731
        compiled = jax.jit(jax.grad(number)).lower(learner, task, given).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    kept, undone = bytes_of(mttt.Keep()), bytes_of(mttt.Undo())
    assert kept > n // substitution.BLOCK * weights * 4
    assert undone < 0.2 * kept
    assert undone < n * 16 * width * 4


def test_a_large_chunk_that_answers_first_makes_no_copies_of_the_weights():
    """Whatever the optimizer is, and in the backward pass."""
    size, width = 128, 16
    learner = mttt.SwiGLULearner(width, key=jax.random.key(0))
    task, rates = mttt.KeyValue(width, width, key=jax.random.key(1)), mttt.GatedRates(width, width, key=KEY)
    weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(learner, eqx.is_array)))
    read = online(OPTIMIZERS["momentum"](), mttt.AnswerThenLearn(size), mttt.Recompute())
    given = jax.ShapeDtypeStruct((2 * size, width), jnp.float32)
    gradient = jax.grad(lambda given: jnp.sum(read(learner, task, rates, given, given)[0]))
    compiled = jax.jit(gradient).lower(given).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < size * weights * 4


def test_bad_parts_are_named(as_users_run_it):
    with pytest.raises(ValueError, match=r"size=0: expected a whole number from 1"):
        mttt.Chunks(0)
    _, _, rates = parts_of("mlp", "2024", "placed")
    with pytest.raises(ValueError, match=r"size=4 places have rates, and the chunks have 16 tokens"):
        rates.places(16)
    with pytest.raises(ValueError, match=r"NadarayaWatson keeps all tokens"):
        mttt.Memory(mttt.NadarayaWatson(4)).first(mttt.GradientDescent(), jnp.float32)
    with pytest.raises(TypeError, match=r"loss is 'dot'; expected an instance of RowLoss"):
        mttt.KeyValue(4, 4, loss="dot", key=jax.random.key(0))
