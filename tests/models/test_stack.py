"""Stacks of causal mixers go on; blocks may be without their MLP."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import mttt
from catalogue import DIM, HEADS, build, relative_error, tokens

LONG = 9
MIXERS = {
    "attention": partial(mttt.Gated, mixer=partial(mttt.Convolved, mixer=mttt.CausalSelfAttention, width=2)),
    "linear": partial(mttt.CausalLinearAttention, chunk=2),
}


def make(mixer="attention", **options):
    stack = partial(mttt.Stack, DIM, 3, HEADS, mixer=MIXERS.get(mixer, mixer), **options)
    return build(stack, scale=0.1, name=("stack", mixer, *options.items()))


@pytest.mark.parametrize(("name", "remat"), [("attention", True), ("linear", False)])  # they do not know each other
def test_pieces_are_one_pass(name, remat, float64):
    """Outputs and gradients: a piece, then one by one in a scan, inside of one program."""
    model, x = make(name, remat=remat), tokens(LONG)

    def pieces(model, x):
        states = model.make_room(model.start(x.dtype), LONG)
        first, states = model.go_on(states, x[:4])
        _, rest = jax.lax.scan(lambda states, one: model.go_on(states, one[None])[::-1], states, x[4:])
        return jnp.concatenate([first, rest[:, 0]])

    def gradient(run):
        def loss(variables):
            out = run(*variables)
            return jnp.sum(jnp.sin(out)), out

        return eqx.filter_jit(eqx.filter_value_and_grad(loss, has_aux=True))((model, x))

    assert relative_error(gradient(pieces), gradient(lambda model, x: model(x).tokens)) < 1e-6


def test_a_stack_makes_room_by_itself_outside_of_programs():
    model, x = make(), tokens(LONG)
    first, states = model.go_on(model.start(), x[:5])
    assert states.inside.keys.shape == (3, HEADS, 8, DIM // HEADS)
    second, states = model.go_on(states, x[5:])
    assert states.inside.keys.shape[2] == 16
    assert relative_error(jnp.concatenate([first, second]), model(x).tokens) < 1e-5
    with pytest.raises(ValueError, match=r"room for 16 tokens, and more came.*make_room"):
        jax.eval_shape(model.go_on, states, tokens(17))


def test_a_block_is_a_stack_of_one():
    x, key = tokens(LONG), jax.random.key(0)

    @eqx.filter_jit
    def pieces_and_whole(key):
        block = mttt.Block(mttt.CausalLinearAttention(DIM, HEADS, key=key), DIM, key=key)
        state = block.make_room(block.start(), LONG)
        first, state = block.go_on(state, x[:2])
        second, state = block.go_on(state, x[2:])
        return jnp.concatenate([first, second]), block(x).tokens

    assert relative_error(*pieces_and_whole(key)) < 1e-5


def test_without_the_mlp_a_block_is_its_first_half():
    x = tokens(LONG)
    model = make("linear", mlp_factor=0)
    assert model.blocks.mlp is None and model.blocks.mlp_norm is None, "no parameters without a use"
    assert model.depth == 3

    @eqx.filter_jit
    def by_hand_and_both_ways(model, x):
        expected = x
        for depth in range(3):
            block = jax.tree.map(lambda a, depth=depth: a[depth], model.blocks)
            expected = expected + block.mixer(block.mixer_norm(expected)).tokens
        return expected, model(x).tokens, model.go_on(model.start(), x)[0]

    expected, whole, read = by_hand_and_both_ways(model, x)
    assert relative_error(whole, expected) < 1e-5
    assert relative_error(read, expected) < 1e-5


@pytest.mark.usefixtures("as_users_run_it")
def test_what_cannot_go_on_says_so():
    key, x = jax.random.key(0), tokens(LONG)
    stack = eqx.filter_jit(mttt.Stack)
    model = stack(DIM, 2, HEADS, mixer=mttt.SelfAttention, key=key)
    for call in (model.start, lambda: model.go_on(None, x), lambda: model.make_room(None, 3)):
        with pytest.raises(TypeError, match=r"SelfAttention is not causal: .* Take a CausalMixer"):
            call()
    causal = make("linear")
    deeper = stack(DIM, 4, HEADS, mixer=MIXERS["linear"], key=key)
    for state in (deeper.start(), None, make().start(), causal.start(jnp.bfloat16).products):
        with pytest.raises(ValueError, match=r"this state is not one of this Stack: it has .* are expected"):
            causal.go_on(state, x)
    with pytest.raises(ValueError, match="mlp_factor=-1: expected a whole number from 0"):
        mttt.Stack(DIM, 2, HEADS, mixer=mttt.SelfAttention, mlp_factor=-1, key=key)
