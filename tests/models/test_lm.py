"""The language model."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import build
from mttt.models import draw_small
from running import Running

SIZE = mttt.Size(8, 2, 2)
CONTEXT = 10


def make(**options):
    make = partial(mttt.LM, **({"size": SIZE, "mixer": Running, "vocabulary": 20} | options))
    return build(make, scale=0.1, name=("lm", str(sorted(options.items()))))


def text(n=CONTEXT, seed=1):
    return jnp.asarray(np.random.default_rng(seed).integers(0, 20, n), jnp.uint8)


PLACES = {"none": mttt.NoPlaces, "learned": partial(mttt.LearnedPlaces, context=CONTEXT)}


@pytest.mark.parametrize("places", PLACES)
def test_logits_of_a_place_depend_on_what_came_before_only(places):
    model = eqx.filter_jit(make(places=PLACES[places]))
    tokens = text()
    logits = model(tokens)
    assert logits.shape == (CONTEXT, 20) and logits.dtype == jnp.float32
    other = model(tokens.at[6].set((tokens[6] + 1) % 20))
    np.testing.assert_array_equal(logits[:6], other[:6])
    assert (np.abs(logits[6:] - other[6:]).max(axis=1) > 1e-4).all()
    np.testing.assert_allclose(model(tokens[:4]), logits[:4], atol=1e-6)


def test_learned_places_tell_equal_tokens_apart():
    same = jnp.zeros(CONTEXT, jnp.uint8)
    alike, apart = (make(places=places)(same) for places in PLACES.values())
    np.testing.assert_allclose(alike[0], alike[-1], atol=1e-5)
    assert np.abs(apart[0] - apart[-1]).max() > 1e-3


@pytest.mark.parametrize("places", PLACES)
def test_any_cut_gives_what_one_pass_gives(places):
    model, tokens = make(places=PLACES[places]), text()
    expected, state, found = eqx.filter_jit(model)(tokens), model.start(), []
    go_on = eqx.filter_jit(lambda model, state, rows: model.go_on(state, rows))
    for begin, end in ((0, 1), (1, 5), (5, 6), (6, 10)):
        logits, state = go_on(model, model.make_room(state, end - begin), tokens[begin:end])
        found.append(logits)
    np.testing.assert_allclose(jnp.concatenate(found), expected, atol=1e-5)
    assert int(state.place) == CONTEXT


def test_the_table_embeds_and_makes_the_logits():
    model = make()
    weight = model.embed.weight
    assert weight.shape == (20, 8)
    features = jnp.ones((3, 8))
    np.testing.assert_allclose(model.embed.logits(features), features @ weight.T, atol=1e-6)
    assert mttt.kernels(eqx.filter(model, eqx.is_array)).embed.weight
    drawn = mttt.LM(size=mttt.Size(64, 1, 1), mixer=Running, key=jax.random.key(0))
    assert float(jnp.std(drawn.embed.weight)) == pytest.approx(0.02, rel=0.05)
    assert drawn.vocabulary == 256


def test_bfloat16_is_for_computation_and_logits_are_float32():
    logits = jax.eval_shape(lambda: make(dtype="bfloat16")(text()))
    assert logits.dtype == jnp.float32
    plain, low = make()(text()), make(dtype="bfloat16")(text())
    assert 0 < float(jnp.abs(plain - low).max()) < 0.1


def test_a_token_that_is_not_in_the_vocabulary_is_not_taken_for_another():
    assert np.isnan(make()(jnp.array([3, 20], jnp.int32))[1]).all()


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        (jnp.zeros((2, 3), jnp.uint8), r"shape \(2, 3\).*jax.vmap"),
        (jnp.zeros((0,), jnp.uint8), r"shape \(0,\)"),
        (jnp.zeros((3,)), "float32: expected whole numbers below 20"),
        (jnp.zeros((11,), jnp.uint8), "11 tokens: this model has learned positions for a context of 10"),
    ],
)
def test_what_cannot_be_read_is_refused(tokens, says, as_users_run_it):
    with pytest.raises(ValueError, match=says):
        make(places=PLACES["learned"])(tokens)


def test_a_state_of_another_model_is_refused(as_users_run_it):
    model = make()
    with pytest.raises(TypeError, match=r"a state of type NoneType; expected the TextState of this model: begin with"):
        model.go_on(None, text(3))
    with pytest.raises(TypeError, match=r"a state of type .*; expected the TextState of this model"):
        model.go_on(model.start().stack, text(3))
    for size in (mttt.Size(8, 3, 2), mttt.Size(12, 2, 2)):
        with pytest.raises(ValueError, match=r"this state is not one of this Stack: it has .* are expected"):
            model.go_on(make(size=size).start(), text(3))


def test_a_mixer_that_sees_the_future_is_refused():
    with pytest.raises(TypeError, match="mixer=SelfAttention: in a language model a token must not see those after it"):
        mttt.LM(size=SIZE, mixer=mttt.SelfAttention, key=jax.random.key(0))


def test_small_kernels_are_drawn_as_gpt2_draws_them():
    plain = mttt.LM(size=mttt.Size(64, 2, 2), mixer=mttt.CausalSelfAttention, key=jax.random.key(0))
    small = draw_small(plain, key=jax.random.key(1))
    block, before = small.stack.blocks, plain.stack.blocks
    for weight, spread in (
        (block.mlp.up.weight, 0.02),
        (block.mlp.down.weight, 0.01),
        (block.mixer.views.query.weight, 0.02),
        (block.mixer.merge.weight, 0.01),
    ):
        assert float(jnp.std(weight)) == pytest.approx(spread, rel=0.05)
    np.testing.assert_array_equal(block.mlp.up.bias, before.mlp.up.bias)
    np.testing.assert_array_equal(small.norm.scale, plain.norm.scale)
    assert not np.array_equal(block.mlp.up.weight[0], block.mlp.up.weight[1])
