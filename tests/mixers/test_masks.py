"""A padded input gives for its real tokens what the short input gives: outputs, inner losses, gradients."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import CAUSAL, DIM, HEADS, MIXERS, SOFTMAX, N, Stranger, build, made, maker, relative_error, tokens, ttt

LONG = 11
# Padding at the end; where places do not matter, also anywhere.
AT_END = ("longformer", "hyena", "linformer")


def places(name, n):
    """Where the real tokens are."""
    yield np.arange(n)
    if name not in AT_END:
        yield np.sort(np.random.default_rng(n).permutation(LONG)[:n])


def pad(x, where):
    """The rows of x at their places, and between them what nobody should look at."""
    return jnp.full((LONG, x.shape[1]), jnp.nan).at[where].set(x), jnp.zeros(LONG, bool).at[where].set(True)


@eqx.filter_jit
def outer(mixer, rows, mask=None):
    """Outputs, losses, and gradients by parameters and rows. What comes out of padding is 0, and adds nothing."""

    @partial(eqx.filter_value_and_grad, has_aux=True)
    def loss(variables):
        mixer, rows = variables
        mixed = mixer(rows, mask=mask, key=jax.random.key(3), trace=True)
        total = jnp.sum(jnp.sin(3 * mixed.tokens)) + (0 if mixed.losses is None else jnp.sum(mixed.losses))
        return total, mixed

    return loss((mixer, rows))


def only(found, where):
    """What `outer` found, of the rows at these places."""
    (total, mixed), (slopes, slope) = found
    return (total, mixed._replace(tokens=mixed.tokens[where])), (slopes, slope[where])


def is_0(found):
    return all(bool(jnp.all(a == 0)) for a in jax.tree.leaves(found))


# SOFT with more landmarks than real tokens; a window and blocks of Longformer; ragged mini-batches. Blocks and
# Optax below stand for the other two MTTT-MLP. Without places, attention does less of what it does with them.
LEFT_OUT = ("linformer", "mttt-mlp", "mttt-mlp-sgd3", "placeless-attention")
CASES = {name: (maker(name, LONG), 7) for name in MIXERS}
CASES["mttt-mlp-blocks"] = (MIXERS["mttt-mlp-blocks"], 9)  # whole blocks, and with padding one that is not
CASES |= {
    "soft-few": (partial(mttt.SOFT, landmarks=9), 5),
    "longformer-blocks": (partial(mttt.Longformer, window=4, global_tokens=1), 7),
    "mttt-linear-sgd3": (ttt("zero-linear", "plain", batching="mini", steps=3), 8),
    **{name: (make, 7) for name, make in CAUSAL.items()},
    "mttt-mlp-optax": (ttt("mlp", "normalised", optimizer="optax", batching="mini", steps=2), 7),
}
CASES = {name: case for name, case in CASES.items() if name not in LEFT_OUT}


def case(name):
    make, n = CASES[name]
    return build(make, DIM, HEADS, name=(name, N)), tokens(n)  # the catalogue's name, and what it has drawn already


@pytest.mark.parametrize("name", CASES)
def test_padding_changes_nothing(name, float64):
    """Where nothing is real, nothing is left but zeros: a batch may be filled up with such inputs."""
    mixer, x = case(name)
    short = outer(mixer, x)
    for where in places(name.partition("-")[0], len(x)):
        rows, mask = pad(x, where)
        padded = outer(mixer, rows, mask)
        # JAX's attention takes the softmax in float32.
        tolerance = 1e-6 if name.startswith(("self", "longformer", *SOFTMAX)) else 1e-9
        assert relative_error(only(padded, where), short) < tolerance
        (_, mixed), (_, slope) = only(padded, ~mask)
        assert is_0((mixed.tokens, slope)), "padding came out, or has a gradient"
    assert is_0(outer(mixer, tokens(LONG), jnp.zeros(LONG, bool)))


@pytest.mark.parametrize("name", ["mttt-linear-sgd3", "hyena"])
def test_padding_changes_nothing_in_float32(name):
    mixer, x = case(name)
    run = eqx.filter_jit(lambda rows, mask: mixer(rows, mask=mask, key=jax.random.key(3), trace=True))
    got, short = run(*pad(x, np.arange(len(x)))), run(x, None)
    assert relative_error(got._replace(tokens=got.tokens[: len(x)]), short) < 2e-6


def test_the_mixtures_of_linformer_leave_padding_out(float64):
    """It is built for one n: columns of E and F that belong to padding drop out."""
    mixer, x = build(partial(mttt.Linformer, tokens=LONG, rank=3), DIM, HEADS), tokens(7)
    short = eqx.tree_at(
        lambda m: (m.keys.weight, m.values.weight), mixer, (mixer.keys.weight[:, :7], mixer.values.weight[:, :7])
    )
    rows, mask = pad(x, np.arange(7))
    padded = eqx.filter_jit(mixer)(rows, mask=mask).tokens
    assert relative_error(padded[:7], eqx.filter_jit(short)(x).tokens) < 1e-12


@pytest.mark.parametrize("name", ["mttt-mlp-sgd3", "ttt-kernel", "placeless-attention"])
def test_an_input_without_any_real_token_is_finite(name):
    """In float32, and of two that are not among the cases."""
    assert is_0(outer(made(name), tokens(LONG), jnp.zeros(LONG, bool)))


def test_what_may_mix_tokens_takes_no_mask():
    x, mask = tokens(), jnp.ones(7, bool)
    with pytest.raises(ValueError, match=r"Stranger may mix tokens.*Make it a TokenwiseLearner"):
        eqx.filter_eval_shape(lambda: build(partial(mttt.TTT, learner=Stranger), DIM, HEADS)(x, mask=mask))
    with pytest.raises(ValueError, match=r"Denoising sees all tokens at once.*Make it a TokenwiseTask"):
        eqx.filter_eval_shape(lambda: build(ttt(task="own"), DIM, HEADS)(x, mask=mask))


def test_a_model_with_a_mask_is_the_model_of_the_short_input(float64):
    """Through blocks and the final mean."""

    def draw(key):
        return mttt.Stack(DIM, 2, HEADS, mixer=ttt("linear", "plain", batching="mini", steps=2), key=key)

    model, x = eqx.filter_jit(draw)(jax.random.key(0)), tokens(7)

    @eqx.filter_jit
    def run(rows, mask):
        @partial(eqx.filter_value_and_grad, has_aux=True)
        def outer(model):
            out, losses = model(rows, mask=mask, key=jax.random.key(1), trace=True)
            mean = mttt.mean_of_real(out, mask)
            return jnp.sum(jnp.sin(mean)), (mean, losses)

        return outer(model)

    assert relative_error(run(*pad(x, np.arange(7))), run(x, None)) < 1e-10


def test_patches_that_the_mask_leaves_out_may_hold_anything():
    """Logits and gradients of an image of which a part is not there."""
    vit = partial(mttt.ViT, (4, 4, 1), 3, size=mttt.Size(8, 1, 2), patch=2, mixer=ttt("zero-linear", "plain"))
    model = eqx.filter_jit(lambda key: vit(key=key))(jax.random.key(0))
    mask = jnp.array([True, True, False, True])

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def outer(model, hole):
        return jnp.sum(jnp.sin(model(jnp.ones((4, 4, 1)).at[2:, :2].set(hole), mask=mask)))

    assert relative_error(outer(model, jnp.nan), outer(model, 0.0)) < 1e-6
