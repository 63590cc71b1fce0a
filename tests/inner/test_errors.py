"""What cannot be learned, or learned from, gets one sentence; nothing is computed from it silently."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mttt
from catalogue import DIM, WIDTH, tokens

KEY = jax.random.key(0)
pytestmark = pytest.mark.usefixtures("as_users_run_it")


class Answering(eqx.Module):
    """A learner that answers right, but for what is then made of it."""

    weight: jax.Array
    change: object = eqx.field(static=True)

    def __call__(self, inputs, *, key=None):
        return self.change(inputs @ self.weight)


def linear():
    return mttt.LinearLearner(WIDTH, key=KEY)


def loop(start=None, task=None, optimizer=None, x=None):
    start = mttt.Trained(linear()) if start is None else start
    task = mttt.Reconstruction(DIM, WIDTH, decoder_norm=False, key=KEY) if task is None else task
    optimizer = mttt.GradientDescent() if optimizer is None else optimizer
    x = tokens() if x is None else x
    return mttt.inner_loop(start, task, optimizer, mttt.FullBatch(2), x, losses=True)


WRONG_ANSWERS = {
    "one row for all": (lambda a: a[:1], r"maps \(7, 6\) to \(1, 6\); expected floats of shape \(7, 6\)"),
    "one row too many": (lambda a: jnp.concatenate([a, a[:1]]), r"to \(8, 6\)"),
    "too few numbers": (lambda a: a[:, :1], r"to \(7, 1\)"),
    "one number a row": (lambda a: a[:, 0], r"to \(7,\)"),
    "one number": (jnp.sum, r"to \(\)"),
    "an axis too many": (lambda a: a[None], r"to \(1, 7, 6\)"),
    "turned": (lambda a: a.T, r"to \(6, 7\)"),
    "integers": (lambda a: a.astype(int), "answers with numbers of dtype int32; expected floats"),
    "booleans": (lambda a: a > 0, "answers with numbers of dtype bool"),
    "complex numbers": (lambda a: a.astype(complex), "answers with numbers of dtype complex64"),
    "None": (lambda a: None, "answers with a NoneType; expected floats"),
    "a tuple": (lambda a: (a, a), "answers with a tuple"),
    "a list": (lambda a: [a], "answers with a list"),
    "a number": (lambda a: 0.0, "answers with a float"),
    "a text": (lambda a: "a", "answers with a str"),
}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_a_learner_answers_each_token(name):
    change, reason = WRONG_ANSWERS[name]
    learner = Answering(jnp.eye(WIDTH), change)
    with pytest.raises(ValueError, match=f"the learner Answering .*{reason}"):
        loop(mttt.Trained(learner))
    with pytest.raises(ValueError, match="the learner Answering "):
        mttt.TTT(DIM, 2, learner=lambda width, *, key: learner, key=KEY)


class Plain:
    """A class of Python, no module."""

    def __init__(self):
        self.weight = jnp.eye(WIDTH)

    def __call__(self, inputs, *, key=None):
        return inputs @ self.weight


class Nothing(eqx.Module):
    """Has no arrays."""

    def __call__(self, inputs, *, key=None):
        return inputs


WHOLE = Answering(jnp.eye(WIDTH, dtype=int), lambda a: a)


@pytest.mark.parametrize("start", [mttt.Trained, mttt.Frozen, mttt.Zeros])
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (Plain(), "the learner Plain would learn nothing: only the arrays of an eqx.Module are found: derive it"),
        (Nothing(), "the learner Nothing would learn nothing: it has no arrays"),
        (WHOLE, "the learner Answering would learn nothing: its arrays are of dtype int32, and only floats"),
        (mttt.Frozen(linear()), "a start is made of a learner, and the start Frozen came"),
        (mttt.Zeros(linear()), "a start is made of a learner, and the start Zeros came"),
        (mttt.LinearLearner, "a start is made of a learner, and the class LinearLearner came"),
        (None, "the learner NoneType would learn nothing"),
    ],
)
def test_a_start_is_made_of_something_that_learns(start, given, reason):
    with pytest.raises((TypeError, ValueError), match=reason):
        start(given)


def test_a_memory_is_made_of_a_learner():
    with pytest.raises(TypeError, match="the start Memory came"):
        mttt.Memory(mttt.Memory(mttt.NadarayaWatson(WIDTH)))
    with pytest.raises(TypeError, match="kernel is 3; expected an instance of Kernel"):
        mttt.NadarayaWatson(WIDTH, kernel=3)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: mttt.GaussianKernel(0), "bandwidth=0: expected a finite number above 0"),
        (lambda: mttt.GaussianKernel(-1.0), r"bandwidth=-1\.0: expected a finite number above 0"),
        (lambda: mttt.GaussianKernel(np.nan), "bandwidth=nan"),
        (lambda: mttt.GaussianKernel("wide"), "bandwidth='wide': expected a number"),
        (lambda: mttt.ExponentialKernel(np.inf), "scale=inf: expected a finite number"),
        (lambda: mttt.GradientDescent(np.nan), "rate=nan: expected a finite number"),
        (lambda: mttt.GradientDescent(np.inf), "rate=inf"),
        (lambda: mttt.GradientDescent(jnp.asarray([1.0, jnp.nan])), "rate=.*nan.*: expected a finite number"),
        (lambda: mttt.GradientDescent(True), "rate=True: expected a number"),
        (lambda: mttt.GradientDescent("fast"), "rate='fast': expected a number"),
        (lambda: mttt.GradientDescent(None), "rate=None: expected a number"),
        (lambda: mttt.GradientDescent([]), r"a rate of shape \(0,\)"),
        (lambda: mttt.OptaxOptimizer(optax.sgd, learning_rate=np.nan), "learning_rate=nan: expected a finite number"),
        (
            lambda: mttt.Reconstruction(DIM, WIDTH, divisor=0.0, key=KEY),
            r"divisor=0\.0: expected a finite number above 0",
        ),
        (lambda: mttt.Reconstruction(DIM, WIDTH, divisor=np.nan, key=KEY), "divisor=nan"),
        (lambda: mttt.Reconstruction(0, WIDTH, key=KEY), "dim=0: expected a whole number from 1"),
        (lambda: mttt.LinearLearner(2.5, key=KEY), r"width=2\.5: expected a whole number"),
        (lambda: mttt.MLPLearner(WIDTH, factor=0, key=KEY), "factor=0: expected a whole number from 1"),
        (lambda: mttt.MLPLearner(WIDTH, factor=2**31, key=KEY), "factor=2147483648: expected a whole number from 1 to"),
        (lambda: mttt.FullBatch(-1), "steps=-1: expected a whole number from 0 to 1,000,000"),
        (lambda: mttt.FullBatch(2**31), "steps=2147483648"),
        (lambda: mttt.FullBatch(True), "steps=True: expected a whole number"),
        (lambda: mttt.MiniBatches("4"), "steps='4': expected a whole number"),
        (lambda: mttt.MiniBatches(4, seed=-1), "seed=-1"),
        (lambda: mttt.Recompute(0.5), r"block=0\.5: expected a whole number"),
        (lambda: mttt.Recompute(True), "block=True"),
    ],
)
def test_numbers_that_cannot_be_meant(make, reason):
    with pytest.raises((TypeError, ValueError), match=reason):
        make()


def test_rates_that_are_whole_numbers_are_floats():
    assert mttt.GradientDescent([1, 2]).rate.dtype == jnp.float32
    assert mttt.GradientDescent(np.float32(0.5)).rate.value == 0.5, "a number of NumPy is a number"


@pytest.mark.parametrize("learner", [linear(), mttt.MLPLearner(WIDTH, key=KEY)])
def test_learners_are_shown_floats_of_their_width(learner):
    with pytest.raises(ValueError, match="tokens of dtype int32: expected floats"):
        learner(jnp.ones((7, WIDTH), int))
    with pytest.raises(ValueError, match=r"tokens of shape \(7, 5\): this layer was built for tokens of width 6"):
        learner(jnp.ones((7, 5)))


class Posing(mttt.TokenwiseTask):
    """Poses what a function makes of the tokens."""

    make: object = eqx.field(static=True)

    def __call__(self, tokens):
        return self.make(tokens[:, :WIDTH])

    def report(self, losses):
        return losses


def squared(answers, targets):
    return jnp.sum((answers - targets) ** 2, axis=1)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (
            lambda x: mttt.Problem(x.astype(int), x, squared),
            r"inputs have shape \(7, 6\) and dtype int32; expected floats",
        ),
        (lambda x: mttt.Problem(x[:, 0], x, squared), r"inputs have shape \(7,\)"),
        (lambda x: mttt.Problem(x, x[:3], squared), r"targets hold an array of shape \(3, 6\); expected 7 rows"),
        (lambda x: mttt.Problem(x, x, squared, weights=jnp.ones(())), r"weights hold an array of shape \(\)"),
        (lambda x: mttt.Problem(x[:3], x[:3], squared), "Posing made 3 rows of 7 tokens; expected a Problem"),
        (lambda x: (x, x), "Posing made a tuple of 7 tokens; expected a Problem"),
        (lambda x: mttt.Problem(x[:, :2], x[:, :2], squared), "built for tokens of width 6"),
    ],
)
def test_a_task_poses_one_row_a_token(make, reason):
    with pytest.raises(ValueError, match=reason):
        loop(task=Posing(make))


class Rule(mttt.Optimizer):
    """Returns what a function makes of the weights."""

    change: object = eqx.field(static=True)

    def init(self, weights):
        return None

    def step(self, gradient, state, weights, t):
        return jax.tree.map(self.change, weights), None


@pytest.mark.parametrize("change", [lambda w: w[0], lambda w: w.astype(int), lambda w: None, lambda w: (w, w)])
def test_an_optimizer_returns_weights_like_the_old_ones(change):
    with pytest.raises(ValueError, match=r"Rule.step turned weights of \.weight float32\(6, 6\) into "):
        loop(optimizer=Rule(change))
