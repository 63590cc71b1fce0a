"""Layers are plain pytrees: they can be pickled, copied and computed with, and jax.jit, grad and vmap take them.

What is no parameter is no leaf: `jax.jit` would trace it, and `jax.grad` would give it a gradient.
"""

import copy
import pickle
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mttt
from catalogue import BATCHINGS, DIM, HEADS, LEARNERS, MIXERS, OPTIMIZERS, TASKS, WIDTH, build, maker, tokens, ttt

COPIES = {"pickle": lambda tree: pickle.loads(pickle.dumps(tree)), "deepcopy": copy.deepcopy}
KEY = jax.random.key(0)
PARTS = (
    {
        f"learner {name}": lambda make=make, start=start: start(make(WIDTH, key=KEY))
        for name, (make, start) in LEARNERS.items()
        if name != "stranger"  # it holds jnp.tanh, which Python cannot pickle
    }
    | {f"task {name}": lambda make=make: make(DIM, WIDTH, key=KEY) for name, make in TASKS.items()}
    | {f"optimizer {name}": make for name, make in OPTIMIZERS.items()}
    | {f"batching {name}": make for name, make in BATCHINGS.items()}
    | {"keep": mttt.Keep, "recompute": mttt.Recompute, "block": lambda: mttt.Recompute(3)}
    | {"gaussian": lambda: mttt.GaussianKernel(0.5), "exponential": lambda: mttt.ExponentialKernel(0.5)}
)
LAYERS = MIXERS | {
    "zeros-mini": ttt("zero-linear", "normalised", "per-step", "mini", 3),
    "momentum": ttt("linear", "plain", "optax", steps=2),
}


def make(name):
    return build(maker(name) if name in MIXERS else LAYERS[name], DIM, HEADS, name=(name, 7))


def vit(mixer):
    draw = partial(mttt.ViT, (8, 8, 1), 3, size=mttt.Size(8, 2, 2), patch=4, mixer=mixer)
    return eqx.filter_jit(lambda key: draw(key=key))(KEY)


def equal(a, b):
    return jax.tree.structure(a) == jax.tree.structure(b) and bool(eqx.tree_equal(a, b))


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", PARTS)
def test_every_part_is_copied(name, way):
    part = PARTS[name]()
    assert equal(COPIES[way](part), part)


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", ["mttt-linear", "momentum"])
def test_a_copied_layer_answers_as_the_first_does(name, way):
    layer, x = make(name), tokens()
    other = COPIES[way](layer)
    assert equal(other, layer)
    run = eqx.filter_jit(lambda layer: layer(x).tokens)
    assert np.array_equal(run(other), run(layer))


@pytest.mark.parametrize("way", COPIES)
def test_a_copied_model_is_the_model(way):
    model = vit(ttt("zero-linear", "plain"))
    other = COPIES[way](model)
    assert equal(other, model)


@pytest.mark.parametrize("name", LAYERS)
def test_every_leaf_is_a_parameter(name):
    assert all(map(eqx.is_inexact_array, jax.tree.leaves(make(name))))


@pytest.mark.parametrize("name", ["mttt-linear", "mttt-mlp-blocks", "ttt-kernel", "zeros-mini", "linear-attention"])
def test_plain_transformations_take_a_layer(name):
    """Shapes are enough: what was wrong was found while tracing."""
    layer, x = make(name), tokens()
    two = jax.tree.map(lambda a, b: jnp.stack([a, a - 0.1 * b]), layer, layer)
    slopes = jax.jit(jax.vmap(jax.grad(lambda layer: jnp.sum(layer(x).tokens))))
    assert jax.tree.structure(jax.eval_shape(slopes, two)) == jax.tree.structure(layer)


@pytest.mark.parametrize("name", ["mttt-linear", "momentum"])
def test_plain_jit_and_grad_give_the_numbers_of_equinox(name):
    layer, x = make(name), tokens()

    def loss(layer, x):
        return jnp.sum(jnp.sin(layer(x).tokens))

    assert equal(jax.jit(jax.grad(loss))(layer, x), eqx.filter_jit(eqx.filter_grad(loss))(layer, x))


def test_plain_transformations_take_a_model():
    model, image = eqx.filter_eval_shape(lambda: vit(ttt("mlp", steps=2))), jnp.ones((8, 8, 1))
    gradient = jax.eval_shape(jax.jit(jax.grad(lambda model: jnp.sum(model(image)))), model)
    assert jax.tree.structure(gradient) == jax.tree.structure(model)


class Halving(mttt.Optimizer):
    """A rule of a user, with a number in a field that is not static: a leaf."""

    rate: float

    def init(self, weights):
        return None

    def step(self, gradient, state, weights, t):
        return jax.tree.map(lambda w, g: w - self.rate * g, weights, gradient), None


def test_a_traced_number_is_shared_by_all_heads_and_blocks():
    def mixer(dim, heads, *, key):
        return mttt.TTT(dim, heads, learner=mttt.LinearLearner, optimizer=Halving(0.5), key=key)

    layer, x = mixer(DIM, HEADS, key=KEY), tokens()
    assert np.array_equal(jax.jit(lambda layer, x: layer(x).tokens)(layer, x), eqx.filter_jit(layer)(x).tokens)
    image = jnp.ones((8, 8, 1))
    assert jax.eval_shape(jax.jit(lambda model: model(image)), vit(mixer)).shape == (3,)


def test_arrays_keep_their_names():
    """Checkpoints find arrays by their paths."""

    def names(tree):
        return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]

    assert names(mttt.GradientDescent(jnp.ones(3))) == [".rate"]
    optimizer = mttt.OptaxOptimizer(optax.sgd, learning_rate=jnp.asarray(0.3), momentum=0.9, nesterov=True)
    assert names(optimizer) == [".hyperparameters['learning_rate']"]
    assert names(mttt.GaussianKernel(jnp.asarray(2.0))) == [".bandwidth"]
    assert names(make("mttt-linear").start) == []
    assert [name for name in names(make("mttt-mlp")) if "start" in name] == [
        ".start.learner.up.weight",
        ".start.learner.up.bias",
        ".start.learner.down.weight",
        ".start.learner.down.bias",
    ]


def test_a_hessian_times_a_vector_goes_in_reverse_mode():
    """Forward mode is refused (nn/products.py); this is what takes its place."""
    layer, x = make("mttt-linear"), tokens()
    slope = jax.grad(lambda x: jnp.sum(jnp.sin(layer(x).tokens)))
    assert jax.eval_shape(jax.grad(lambda x: jnp.vdot(slope(x), x)), x).shape == x.shape
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jit(lambda x: jax.jvp(slope, (x,), (x,))).lower(x)
