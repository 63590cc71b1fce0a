"""The vision transformer."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import MIXERS, build, fully_optimised, maker, relative_error, to_float64, ttt
from mttt.models import LinearHead, Patches, TanhHead
from mttt.models.embed import grid

SIZE = mttt.Size(16, 3, 2)


def make(mixer="mttt-mlp", shape=(6, 4, 3), patch=2, **options):
    make_mixer = maker(mixer, 6) if isinstance(mixer, str) else mixer
    vit = partial(mttt.ViT, shape, 5, size=SIZE, patch=patch, mixer=make_mixer, **options)
    name = (mixer, shape, patch, *options.items()) if isinstance(mixer, str) else None
    return build(vit, scale=0.1, name=name)


def images(shape=(6, 4, 3), batch=()):
    return jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (*batch, *shape)), float)


@eqx.filter_jit
@eqx.filter_value_and_grad
def value_and_gradient(model, x):
    """Of the loss of four images, each of a class of its own."""
    logits = jax.vmap(model)(x)
    return -jnp.mean(jax.nn.log_softmax(logits, axis=1)[jnp.arange(4), jnp.arange(4)])


@pytest.mark.parametrize(
    ("size", "patch", "positions", "mixer", "millions"),
    [
        (mttt.SMALL, 16, mttt.SinCosPositions, mttt.SelfAttention, "22.1"),
        (mttt.SMALL, 16, mttt.SinCosPositions, MIXERS["mttt-linear"], "22.1"),
        (mttt.SMALL, 16, mttt.SinCosPositions, MIXERS["mttt-mlp"], "24.6"),
        (mttt.TINY, 1, mttt.LearnedPositions, mttt.LinearAttention, "5.6"),
        (mttt.TINY, 1, mttt.LearnedPositions, MIXERS["mttt-linear"], "5.6"),
        (mttt.TINY, 1, mttt.LearnedPositions, MIXERS["mttt-mlp"], "6.8"),
        (mttt.SMALL, 1, mttt.LearnedPositions, mttt.LinearAttention, "21.8"),
    ],
)
def test_parameters_are_the_papers(size, patch, positions, mixer, millions):
    build = partial(mttt.ViT, (224, 224, 3), 1000, size=size, patch=patch, mixer=mixer, positions=positions)
    model = eqx.filter_eval_shape(build, key=jax.random.key(0))
    without_positions = eqx.tree_at(lambda m: m.positions, model, None)
    count = sum(leaf.size for leaf in jax.tree.leaves(without_positions) if isinstance(leaf, jax.ShapeDtypeStruct))
    assert f"{count / 1e6:.1f}" == millions


@pytest.mark.parametrize("shape", [(6, 4, 3), (4, 4, 1), (2, 8, 2)])
@pytest.mark.parametrize("positions", [mttt.SinCosPositions, mttt.LearnedPositions])
@pytest.mark.parametrize("patch", [1, 2])
def test_any_image_that_the_patch_divides(shape, positions, patch):
    model = eqx.filter_eval_shape(lambda: make(shape=shape, patch=patch, positions=positions))
    logits = eqx.filter_eval_shape(lambda model, image: model(image), model, jax.ShapeDtypeStruct(shape, jnp.float32))
    assert logits.shape == (5,)


def test_a_patch_that_does_not_divide_the_image_is_refused():
    with pytest.raises(ValueError, match="patch=4 does not divide an image of 6×4; try 1, 2"):
        make(patch=4)
    with pytest.raises(ValueError, match="this model was built for"):
        eqx.filter_eval_shape(lambda: make()(images((6, 6, 3))))
    with pytest.raises(ValueError, match="patch=0"):
        grid((4, 4), 0)


def test_patches_are_cut_as_they_lie_in_the_image():
    image = np.arange(6 * 4 * 3, dtype=np.float32).reshape(6, 4, 3)
    embed = mttt.models.Patches(2, 3, 12, key=jax.random.key(0))
    identity = eqx.tree_at(lambda e: e.dense.weight, embed, jnp.eye(12))
    expected = [image[r : r + 2, c : c + 2].reshape(-1) for r in (0, 2, 4) for c in (0, 2)]
    np.testing.assert_array_equal(identity(jnp.asarray(image)), np.stack(expected))


@pytest.mark.parametrize(("patch", "fan_in"), [(1, 3), (4, 48)])
def test_embeddings_are_as_large_as_the_releases(patch, fan_in):
    weight = Patches(patch, 3, 4096, key=jax.random.key(0)).dense.weight
    assert float(weight.std()) == pytest.approx(fan_in**-0.5, rel=0.05)


def test_heads():
    features = jnp.ones((1, 64))
    tanh, linear = eqx.filter_jit(lambda key: [head(64, 10, key=key) for head in (TanhHead, LinearHead)])(
        jax.random.key(0)
    )
    assert not tanh(features).any(), "the paper's head starts at zero"
    assert linear(features).any()
    half = eqx.tree_at(lambda h: h.logits.weight, tanh, jnp.eye(64, 10))
    assert jnp.allclose(half(features), jnp.tanh(tanh.pre_logits(features))[:, :10])
    for head in (TanhHead, LinearHead):
        assert eqx.filter_eval_shape(lambda head=head: make(head=head)).classes == 5


def test_trace_has_the_losses_of_every_layer_head_and_step():
    model, image = make("mttt-mlp-sgd3"), images()
    traced = eqx.filter_jit(lambda m, x: m.trace(x))(model, image)
    assert traced.losses.shape == (3, 2, 4)
    assert relative_error(traced.logits, eqx.filter_jit(lambda m, x: m(x))(model, image)) < 1e-5
    assert eqx.filter_eval_shape(lambda: make("self-attention").trace(image)).losses is None


def test_the_trace_is_half_the_mean_squared_error():
    """The logged number, by hand, for the first layer of a model that does not learn at test time."""
    model, image = mttt.with_inner_loop(make(), steps=0), images()
    traced = eqx.filter_jit(lambda m, x: m.trace(x))(model, image)
    block = jax.tree.map(lambda a: a[0] if eqx.is_array(a) else a, model.stack.blocks)
    x = block.mixer_norm(model.embed(image) + model.positions())
    for head in range(2):
        is_shared = lambda node: isinstance(node, mttt.Shared)  # noqa: E731
        pick = lambda a, head=head: a[head] if eqx.is_array(a) else a  # noqa: E731
        task, learner = (
            jax.tree.map(pick, t, is_leaf=is_shared) for t in (block.mixer.task, block.mixer.start.learner)
        )
        reconstruction = task.decoder_norm(learner(task.phi(x)) @ task.g.weight + task.g.bias.value[None, :])
        expected = jnp.mean((reconstruction - x) ** 2) / 2
        assert abs(float(traced.losses[0, head, 0] - expected)) < 1e-5


def test_steps_and_rate_can_change_without_retraining():
    model, image = make(), images()
    run = eqx.filter_jit(lambda m, x: m.trace(x))
    outputs = {steps: run(mttt.with_inner_loop(model, steps=steps), image) for steps in (0, 1, 2)}
    assert relative_error(outputs[1], run(model, image)) == 0
    for steps, traced in outputs.items():
        assert traced.losses.shape == (3, 2, steps + 1)
        assert relative_error(traced.losses[0, :, :1], outputs[2].losses[0, :, :1]) < 1e-6
    still = run(mttt.with_inner_loop(model, steps=2, optimizer=mttt.GradientDescent(0.0)), image)
    assert relative_error(still.logits, outputs[0].logits) < 1e-6
    learned = make(ttt(optimizer="per-step", steps=3))
    assert (
        relative_error(
            run(mttt.with_inner_loop(learned, optimizer=mttt.GradientDescent(0.0)), image).logits,
            run(mttt.with_inner_loop(learned, steps=0), image).logits,
        )
        < 1e-6
    )


def test_a_key_makes_mini_batches_random():
    model, image = make("mttt-mlp-sgd3"), images()
    run = eqx.filter_jit(lambda key: model(image, key=key))
    assert (run(None) == run(None)).all()
    assert (run(jax.random.key(1)) == run(jax.random.key(1))).all()
    assert (run(jax.random.key(1)) != run(jax.random.key(2))).any()


@pytest.mark.parametrize("mixer", ["mttt-mlp-sgd3", "self-attention"])
def test_rematerialisation_changes_no_number(mixer):
    model, x = make(mixer), images(batch=(4,))
    other = eqx.filter_eval_shape(lambda: make(mixer, remat=True))
    again = jax.tree.unflatten(jax.tree.structure(other), jax.tree.leaves(model))  # the same numbers
    plain, remat = value_and_gradient(model, x), value_and_gradient(again, x)
    same = jax.tree.map(
        lambda a, b: bool(np.allclose(a, b, rtol=1e-4, atol=1e-6)), *map(jax.tree.leaves, (plain, remat))
    )
    assert all(same)


def test_the_scan_over_blocks_is_a_loop(float64):
    @eqx.filter_jit
    def by_hand(model, image):
        tokens = model.embed(image) + model.positions()
        for layer in range(3):
            block = jax.tree.map(lambda a, layer=layer: a[layer] if eqx.is_array(a) else a, model.stack.blocks)
            tokens = block(tokens).tokens
        features = jnp.tanh(model.head.pre_logits(jnp.mean(model.norm(tokens), axis=0, keepdims=True)))
        return model.head.logits(features)[0]

    model, image = make(), images()
    assert relative_error(eqx.filter_jit(model)(image), by_hand(model, image)) < 1e-11


def test_bfloat16_images_give_float32_logits():
    model, image = make(), images()
    run = eqx.filter_jit(model)
    half = run(image.astype(jnp.bfloat16))
    assert half.dtype == jnp.float32
    assert relative_error(half, run(image)) < 0.1


@pytest.mark.parametrize("mixer", [name for name in MIXERS if name not in ("mttt-mlp-sgd3", "mttt-mlp-blocks")])
def test_every_mixer_trains(mixer):
    """Every parameter has a gradient, and a small step along it lowers the loss."""
    model, x = make(mixer), images(batch=(4,))
    before, gradient = value_and_gradient(model, x)
    gradient = jax.tree.map(np.asarray, gradient)  # NumPy has nothing to compile
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        assert np.isfinite(leaf).all() and leaf.any(), jax.tree_util.keystr(path)
    rate = 0.01 / np.sqrt(sum(np.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
    after, _ = value_and_gradient(eqx.apply_updates(model, jax.tree.map(lambda g: -rate * g, gradient)), x)
    assert after < before


@pytest.mark.parametrize("batch", [64])
def test_compiled_numbers_are_right(batch):
    """Float32 as users compile it = float64 as tests do, for the whole model, loss and gradient."""
    model, x = make(shape=(4, 4, 1), patch=1), images((4, 4, 1), batch=(batch,))

    def gradient(model, x):
        return eqx.filter_value_and_grad(lambda m: jnp.mean(jnp.sin(5 * jax.vmap(m)(x))))(model)

    jitted = fully_optimised(gradient)(model, x)
    with jax.enable_x64(True):
        exact = eqx.filter_jit(gradient)(*to_float64((model, x)))
        assert relative_error(to_float64(jitted), exact) < 1e-3


def test_sincos_positions_tell_places_apart():
    positions = np.asarray(mttt.SinCosPositions(3, 5, 16, key=jax.random.key(0))())
    assert positions.shape == (15, 16)
    frequencies = 10_000.0 ** (-np.arange(4) / 3)
    x, y = (place[:, None] * frequencies[None, :] for place in (np.tile(np.arange(5), 3), np.repeat(np.arange(3), 5)))
    expected = np.concatenate([np.sin(x), np.cos(x), np.sin(y), np.cos(y)], axis=1)
    assert (positions == expected.astype(np.float32)).all()
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    assert distances[~np.eye(15, dtype=bool)].min() > 0.1
    with pytest.raises(ValueError, match="multiple of 4; try 20"):
        mttt.SinCosPositions(2, 2, 18, key=jax.random.key(0))
