"""Every mixer: shapes, dtypes, heads, batches, and the numbers of the compiler."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import mttt
from catalogue import (
    BY_POSITION,
    DIM,
    HEADS,
    MIXERS,
    N,
    fully_optimised,
    made,
    maker,
    relative_error,
    to_float64,
    tokens,
)

GRADIENTS = ("mttt-linear", "mttt-mlp-sgd3", "mttt-mlp-blocks", "linformer", "soft", "hyena")  # of bfloat16


@eqx.filter_jit
def mix(mixer, x):
    return mixer(x).tokens


@pytest.mark.parametrize("name", MIXERS)
def test_shapes_and_trace(name):
    mixer = made(name)
    mixed = eqx.filter_eval_shape(lambda m, x: m(x, trace=True), mixer, tokens())
    assert mixed.tokens.shape == (N, DIM)
    assert mixed.tokens.dtype == jnp.float32
    if isinstance(mixer, mttt.TTT) and name != "ttt-kernel":
        assert mixed.losses.shape == (HEADS, mixer.batching.steps + 1)
    else:
        assert mixed.losses is None, "a mixer without an inner loop has no trace"
    untraced = eqx.filter_eval_shape(lambda m, x: m(x), mixer, tokens())
    assert untraced.losses is None, "losses cost a forward pass: only if asked for"
    with jax.enable_x64(True):  # drawn as one that is wide
        wide = eqx.filter_eval_shape(maker(name), DIM, HEADS, key=jax.random.key(0))
        assert {leaf.dtype for leaf in jax.tree.leaves(wide) if hasattr(leaf, "dtype")} == {jnp.dtype(float)}


def half(tree):
    return jax.tree.map(lambda a: a.astype(jnp.bfloat16) if eqx.is_inexact_array(a) else a, tree)


def wide(tree):
    return jax.tree.map(lambda a: a.astype(jnp.float32) if eqx.is_inexact_array(a) else a, tree)


def is_close_in_bfloat16(got, full):
    """What a mixer returns for tokens in bfloat16, and in float32."""
    assert got.tokens.dtype == jnp.bfloat16
    assert relative_error(got.tokens.astype(jnp.float32), full.tokens) < 0.05
    if got.losses is not None:  # the inner loop itself is float32
        assert got.losses.dtype == jnp.float32
        assert relative_error(got.losses, full.losses) < 0.02


@pytest.mark.parametrize("name", [name for name in MIXERS if name not in GRADIENTS])
def test_bfloat16_tokens_are_mixed_in_bfloat16(name):
    mixer, x = made(name, 32, 16, 2), tokens(32, 16)
    trace = eqx.filter_jit(lambda m, x: m(x, trace=True))
    is_close_in_bfloat16(trace(mixer, half(x)), trace(mixer, x))


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_bfloat16(name):
    """Through bfloat16 tokens, and through bfloat16 parameters: close to float32, each in its own dtype."""
    mixer, x = made(name, 12, 16, 2), tokens(12, 16) / 2

    @eqx.filter_jit
    @partial(eqx.filter_grad, has_aux=True)
    def gradient(variables):
        mixer, x = variables
        mixed = mixer(x, trace=True)
        return jnp.sum(jnp.sin(mixed.tokens.astype(jnp.float32))), mixed

    full, mixed = gradient((mixer, x))
    for variables in ((mixer, half(x)), (half(mixer), half(x))):
        with jax.numpy_dtype_promotion("standard"):  # bfloat16 parameters are promoted where the inner loop is float32
            got, out = gradient(variables)
        kinds = [[a.dtype for a in jax.tree.leaves(eqx.filter(tree, eqx.is_array))] for tree in (got, variables)]
        assert kinds[0] == kinds[1]
        assert relative_error(wide(got), full) < 0.15
        if variables[0] is mixer:
            is_close_in_bfloat16(out, mixed)


@pytest.mark.parametrize("name", MIXERS)
def test_vmap_is_a_loop_and_permuted_tokens_permute_the_output(name):
    mixer, x = made(name), tokens(batch=(3,))
    batched = eqx.filter_jit(lambda m, x: jax.vmap(lambda one: m(one).tokens)(x))(mixer, x)
    one_by_one = jnp.stack([mix(mixer, one) for one in x])
    assert relative_error(batched, one_by_one) < 1e-5
    order = jax.random.permutation(jax.random.key(2), N)
    gap = relative_error(mix(mixer, x[0][order]), one_by_one[0][order])
    assert (gap > 1e-3) if name in BY_POSITION else (gap < 1e-5)


# The other two make the same products as mttt-mlp.
@pytest.mark.parametrize(
    ("name", "batch"), [(name, 64) for name in MIXERS if name not in ("mttt-mlp-sgd3", "mttt-mlp-blocks")]
)
def test_compiled_numbers_are_right(name, batch):
    """Float32 as users compile it = float64 as tests do, at batches that threads share: compilers were wrong there."""
    mixer, x = made(name, 16, 16, 2), tokens(16, 16, batch=(batch,))

    def gradient(variables):
        def outer(variables):
            mixer, x = variables
            out = jax.vmap(lambda one: mixer(one).tokens)(x)
            return jnp.sum(jnp.sin(out)), out

        (_, out), grads = eqx.filter_value_and_grad(outer, has_aux=True)(variables)
        return out, grads

    jitted = fully_optimised(gradient)((mixer, x))
    with jax.enable_x64(True):  # another way through the compiler: without its optimisations and its way to fuse
        assert relative_error(to_float64(jitted), eqx.filter_jit(gradient)(to_float64((mixer, x)))) < 1e-4


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match=r"heads=5 does not divide dim=192; try 3, 4, 6"):
        mttt.SelfAttention(192, 5, key=jax.random.key(0))


def test_the_bias_of_g_is_one_vector_for_all_heads():
    mixer = made("mttt-mlp")
    assert mixer.task.g.bias.value.shape == (DIM,)
    assert mixer.task.g.weight.shape == (HEADS, DIM // HEADS, DIM)
    assert mixer.merge.bias.shape == (DIM,)
    assert mixer.task.decoder_norm.scale.shape == (HEADS, DIM)


def test_heads_are_independent_inner_loops():
    """Two heads are two layers of one head each, added up; h's bias counts once."""
    mixer, x = made("mttt-mlp"), tokens()

    def only(head):
        is_shared = lambda node: isinstance(node, mttt.Shared)  # noqa: E731
        cut = lambda node: node[head : head + 1] if eqx.is_array(node) else node  # noqa: E731
        one = jax.tree.map(cut, mixer, is_leaf=is_shared)
        return eqx.tree_at(lambda m: m.merge.bias, one, mixer.merge.bias)

    both = sum(mix(only(head), x) for head in range(HEADS)) - mixer.merge.bias[None, :]
    assert relative_error(mix(mixer, x), both) < 1e-5
