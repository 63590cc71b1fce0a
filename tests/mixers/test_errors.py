"""Mistakes with the library get one sentence that says what came, what was expected and what to do."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest

import mttt
from catalogue import DIM, HEADS, MIXERS, build, maker, tokens
from mttt.nn import LayerNorm

KEY = jax.random.key(0)
pytestmark = pytest.mark.usefixtures("as_users_run_it")


@pytest.mark.parametrize("name", MIXERS)
def test_every_mixer_takes_the_tokens_of_one_input(name):
    mixer = build(maker(name), DIM, HEADS, name=(name, 7))
    with pytest.raises(ValueError, match=r"tokens of shape \(3, 7, 12\): expected one input.*use jax.vmap"):
        mixer(tokens(batch=(3,)))
    with pytest.raises(ValueError, match=r"tokens of shape \(0, 12\): there is no token"):
        mixer(tokens(0))
    with pytest.raises(ValueError, match=r"mask of shape \(6,\) and dtype bool: expected an array of shape \(7,\)"):
        mixer(tokens(), mask=jnp.ones(6, bool))
    with pytest.raises(ValueError, match="mask of type list: expected an array"):
        mixer(tokens(), mask=[True] * 7)
    with pytest.raises(ValueError, match="tokens of dtype int32: expected floats"):
        mixer(jnp.ones((7, DIM), jnp.int32))
    with pytest.raises(TypeError, match="tokens of type list: expected an array"):
        mixer([[1.0] * DIM] * 7)
    with pytest.raises(ValueError, match=r"tokens of shape \(7, 10\): this layer was built for tokens of width 12"):
        mixer(tokens(dim=10))


class Narrow(eqx.Module):
    """Answers with too few numbers."""

    def __init__(self, width, *, key):
        pass

    def __call__(self, inputs, *, key=None):
        return inputs[:, 1:]


class Mean(Narrow):
    """Answers all tokens at once."""

    def __call__(self, inputs, *, key=None):
        return inputs.mean(axis=0, keepdims=True)


class NoKey(Narrow):
    """Takes no key."""

    def __call__(self, inputs):
        return inputs


class OneNumber(mttt.TokenwiseTask):
    """The mean of the losses instead of the losses."""

    inner: mttt.Reconstruction

    def __init__(self, dim, width, *, key):
        self.inner = mttt.Reconstruction(dim, width, key=key)

    def __call__(self, tokens):
        problem = self.inner(tokens)
        return mttt.Problem(problem.inputs, problem.targets, lambda z, targets: jnp.mean(problem.losses(z, targets)))

    def report(self, losses):
        return losses


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"batching": 4}, r"batching is 4; expected an instance of Batching, for example FullBatch\(4\)"),
        (
            {"optimizer": 0.5},
            r"optimizer is 0.5; expected an instance of Optimizer, for example GradientDescent\(0.5\)",
        ),
        ({"optimizer": mttt.GradientDescent}, "expected an instance of Optimizer"),
        ({"adjoint": 64}, r"adjoint is 64; expected .* Recompute\(block=256\)"),
        (
            {"learner": mttt.LinearLearner(6, key=KEY)},
            "learner is an instance of LinearLearner; expected a class or a function",
        ),
        ({"task": mttt.Reconstruction(DIM, 6, key=KEY)}, "task is an instance of Reconstruction; expected a class"),
        ({"learner": Narrow}, r"the learner Narrow maps \(n, 6\) to \(n, 5\); expected floats of shape \(n, 6\)"),
        ({"learner": Mean}, r"the learner Mean maps \(n, 6\) to \(1, 6\); expected floats of shape \(n, 6\)"),
        (
            {"optimizer": mttt.OptaxOptimizer(optax.sgd, learning_rate=jnp.ones(4))},
            r"learning_rate of shape \(4,\): OptaxOptimizer takes one number .* GradientDescent\(rates\)",
        ),
        (
            {"learner": NoKey},
            r"NoKey was called as learner\(inputs, key=None\) on tokens of shape \(n, 6\).*failed.*key",
        ),
        ({"start": lambda learner: learner}, "the maker given as start made a MLPLearner; expected a Start"),
        ({"start": mttt.Memory}, "start=Memory is for learners without weights; MLPLearner has some"),
        ({"learner": partial(mttt.LinearLearner, key=KEY), "heads": 5}, "heads=5 does not divide dim=12"),
        (
            {"learner": lambda width, *, key: mttt.LinearLearner(2 * width, key=key)},
            "the learner LinearLearner was called",
        ),
    ],
)
def test_what_cannot_become_a_layer_is_refused_when_it_is_built(options, reason):
    given = {"heads": HEADS, "learner": mttt.MLPLearner} | options
    with pytest.raises((TypeError, ValueError), match=reason):
        mttt.TTT(DIM, **given, key=KEY)


@pytest.mark.parametrize(
    "make",
    [
        *(lambda key, name=name: maker(name)(DIM, HEADS, key=key) for name in MIXERS),
        lambda key: mttt.ViT((8, 8, 1), 3, size=mttt.Size(8, 1, 2), patch=4, mixer=mttt.SelfAttention, key=key),
        lambda key: mttt.Stack(8, 1, 2, mixer=mttt.SelfAttention, key=key),
    ],
)
@pytest.mark.parametrize(
    ("key", "came"),
    [(0, "key=0"), (None, "key=None"), (jnp.arange(2), "key of shape"), (jax.random.split(KEY), "key of shape")],
)
def test_a_key_is_a_random_key(make, key, came):
    with pytest.raises(TypeError, match=f"{came}.*: expected .*random key, for example jax.random.key"):
        make(key)


def test_a_loss_that_is_one_number_is_refused():
    layer = build(partial(mttt.TTT, learner=mttt.MLPLearner, task=OneNumber), DIM, HEADS)
    with pytest.raises(ValueError, match=r"losses have shape \(\) for 7 rows; return one loss for each row"):
        layer(tokens())


def test_optax_is_given_what_makes_a_transformation():
    with pytest.raises(TypeError, match=r"write OptaxOptimizer\(optax.sgd, learning_rate=0.3\)"):
        mttt.OptaxOptimizer(optax.sgd(0.3))
    with pytest.raises(TypeError, match="speed"):
        mttt.OptaxOptimizer(optax.sgd, speed=0.3)


def test_images_come_one_at_a_time():
    model = eqx.filter_jit(vit)()
    with pytest.raises(ValueError, match=r"image of shape \(5, 8, 8, 1\).*use jax.vmap"):
        model(jnp.zeros((5, 8, 8, 1)))


def test_images_are_floats():
    model = eqx.filter_jit(vit)()
    with pytest.raises(ValueError, match="image of dtype uint8: expected floats"):
        model(jnp.ones((8, 8, 1), jnp.uint8))
    with pytest.raises(ValueError, match="tokens of dtype int32: expected floats"):
        model.stack(jnp.ones((4, 8), jnp.int32))
    with pytest.raises(TypeError, match="image of type list: expected an array"):
        model([[0.0]])
    with pytest.raises(ValueError, match=r"mask of shape \(3,\) and dtype bool: expected an array of shape \(4,\)"):
        model(jnp.zeros((8, 8, 1)), mask=jnp.ones(3, bool))


def vit(**changes):
    given = {"image_shape": (8, 8, 1), "classes": 3, "size": mttt.Size(8, 1, 2), "patch": 4} | changes
    return mttt.ViT(**given, mixer=mttt.SelfAttention, key=KEY)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: mttt.SelfAttention(DIM, 0, key=KEY), "heads=0: expected a whole number from 1"),
        (lambda: mttt.SelfAttention(DIM, 2.0, key=KEY), r"heads=2\.0: expected a whole number"),
        (lambda: mttt.SelfAttention(2**31 - 1, 2, key=KEY), "dim=2147483647: expected a whole number from 1 to"),
        (lambda: mttt.LinearAttention(DIM, 2, divisor=0.0, key=KEY), r"divisor=0\.0: expected a finite number above 0"),
        (lambda: mttt.Linformer(DIM, 2, tokens=7, rank=0, key=KEY), "rank=0: expected a whole number from 1"),
        (lambda: mttt.Longformer(DIM, 2, window=3, key=KEY), "window=3: half of it lies to each side"),
        (lambda: mttt.Longformer(DIM, 2, window=0, key=KEY), "window=0: expected a whole number from 1"),
        (
            lambda: mttt.Longformer(DIM, 2, global_tokens=-1, key=KEY),
            "global_tokens=-1: expected a whole number from 0",
        ),
        (lambda: mttt.SOFT(DIM, 2, landmarks=True, key=KEY), "landmarks=True: expected a whole number"),
        (lambda: mttt.Hyena(DIM, 2, order=10**9, key=KEY), "order=1000000000: expected a whole number from 1 to 100"),
        (lambda: vit(classes=0), "classes=0: expected a whole number from 1"),
        (lambda: vit(size=mttt.Size(8, 0, 2)), "depth=0: expected a whole number from 1"),
        (lambda: vit(size=mttt.Size(8, 2**31, 2)), "depth=2147483648: expected a whole number"),
        (lambda: vit(patch=0), "patch=0: expected a whole number from 1"),
        (lambda: vit(patch=3), "patch=3 does not divide an image"),
        (lambda: vit(image_shape=(8, -8, 1)), "width=-8: expected a whole number from 1"),
        (lambda: mttt.Stack(8, 1, 2, mixer=3, key=KEY), "mixer is an instance of int; .* every block gets one"),
        (lambda: mttt.Stack(None, 1, 2, mixer=mttt.SelfAttention, key=KEY), "dim=None: expected a whole number"),
        (lambda: mttt.Block(3, 8, key=KEY), "mixer is of type int; expected a layer"),
        (lambda: mttt.mean_of_real(jnp.ones((7, 2)), True), "mask of type bool: expected an array"),
        (lambda: mttt.NadarayaWatson(2).fit(3, jnp.ones((7, 2))), "tokens of type int: expected an array"),
        (lambda: mttt.NadarayaWatson(2).fit(jnp.ones((7, 2)), jnp.ones((6, 2))), "6 labels of 7 tokens"),
        (
            lambda: mttt.NadarayaWatson(2).fit(*[jnp.ones((7, 2))] * 2)(jnp.ones((7, 3))),
            "built for tokens of width 2",
        ),
        (lambda: LayerNorm(8, eps=0.0), r"eps=0\.0: expected a finite number above 0"),
        (lambda: LayerNorm(8, eps=float("nan")), "eps=nan"),
    ],
)
def test_numbers_that_cannot_be_meant(make, reason):
    with pytest.raises((TypeError, ValueError), match=reason):
        make()


def test_one_array_is_no_kernel():
    assert mttt.kernels(jnp.ones(3)) is False


def test_the_inner_loop_says_what_it_takes():
    learner, task = mttt.MLPLearner(6, key=KEY), mttt.Reconstruction(DIM, 6, key=KEY)
    loop = partial(mttt.inner_loop, tokens=tokens())
    with pytest.raises(TypeError, match="start is of type MLPLearner; expected an instance of Start"):
        loop(learner, task, mttt.GradientDescent(), mttt.FullBatch(1))
    with pytest.raises(TypeError, match="batching is 4"):
        loop(mttt.Trained(learner), task, mttt.GradientDescent(), 4)
    with pytest.raises(TypeError, match=r"steps=1\.5: expected a whole number"):
        mttt.FullBatch(1.5)
    with pytest.raises(TypeError, match=r"optimizer is 0\.1"):
        mttt.with_inner_loop(None, optimizer=0.1)


def test_a_carry_goes_on_with_what_it_was_made_with():
    task = mttt.Reconstruction(DIM, 6, decoder_norm=False, key=KEY)
    loop = partial(mttt.inner_loop, task=task, batching=mttt.FullBatch(1), tokens=tokens())
    learner = mttt.LinearLearner(6, key=KEY)
    carry = eqx.filter_jit(lambda: loop(mttt.Trained(learner), optimizer=mttt.GradientDescent()).carry)()
    with pytest.raises(ValueError, match="made with another optimizer than this OptaxOptimizer"):
        loop(carry, optimizer=mttt.OptaxOptimizer(optax.adam, learning_rate=0.1))
    kept = loop(mttt.Memory(mttt.NadarayaWatson(6)), optimizer=mttt.GradientDescent()).carry
    with pytest.raises(ValueError, match="keeps data and takes no steps"):
        loop(kept, optimizer=mttt.GradientDescent())
