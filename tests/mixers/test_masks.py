"""A padded input gives for its real tokens what the short input gives: outputs, inner losses, gradients."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import CAUSAL, DIM, HEADS, MIXERS, SOFTMAX, Stranger, build, maker, relative_error, tokens, ttt

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
def outer(mixer, x, where=None):
    """Outputs of real tokens, losses, and gradients by the parameters and the real tokens."""

    @partial(eqx.filter_value_and_grad, has_aux=True)
    def loss(variables):
        mixer, x = variables
        rows, mask = (x, None) if where is None else pad(x, where)
        mixed = mixer(rows, mask=mask, key=jax.random.key(3), trace=True)
        out = mixed.tokens if where is None else mixed.tokens[where]
        total = jnp.sum(jnp.sin(3 * out)) + (0 if mixed.losses is None else jnp.sum(mixed.losses))
        return total, (out, mixed.losses)

    return loss((mixer, x))


# SOFT with more landmarks than real tokens; a window and blocks of Longformer; ragged mini-batches. Blocks and
# Optax below stand for the other two MTTT-MLP. Without places, attention does less of what it does with them.
LEFT_OUT = ("linformer", "mttt-mlp", "mttt-mlp-sgd3", "placeless-attention")
CASES = {name: (maker(name, LONG), 7) for name in MIXERS}
CASES |= {
    "soft-few": (partial(mttt.SOFT, landmarks=9), 5),
    "longformer-blocks": (partial(mttt.Longformer, window=4, global_tokens=1), 7),
    "mttt-linear-sgd3": (ttt("zero-linear", "plain", batching="mini", steps=3), 8),
    **{name: (make, 7) for name, make in CAUSAL.items()},
    "mttt-mlp-optax": (ttt("mlp", "normalised", optimizer="optax", batching="mini", steps=2), 7),
}
CASES = {name: case for name, case in CASES.items() if name not in LEFT_OUT}


@pytest.mark.parametrize("name", CASES)
def test_padding_changes_nothing(name, float64):
    make, n = CASES[name]
    mixer, x = build(make, DIM, HEADS, name=(name, LONG)), tokens(n)
    short = outer(mixer, x)
    for where in places(name.partition("-")[0], n):
        # JAX's attention takes the softmax in float32.
        tolerance = 1e-6 if name.startswith(("self", "longformer", *SOFTMAX)) else 1e-9
        assert relative_error(outer(mixer, x, jnp.asarray(where)), short) < tolerance


@pytest.mark.parametrize("name", ["mttt-linear-sgd3", "hyena"])
def test_padding_changes_nothing_in_float32(name):
    make, n = CASES[name]
    mixer, x = build(make, DIM, HEADS, name=(name, LONG)), tokens(n)
    (_, got), (_, short) = outer(mixer, x, jnp.arange(n))[0], outer(mixer, x)[0]
    assert relative_error(got, short) < 2e-6


def test_the_mixtures_of_linformer_leave_padding_out(float64):
    """It is built for one n: columns of E and F that belong to padding drop out."""
    mixer, x = build(partial(mttt.Linformer, tokens=LONG, rank=3), DIM, HEADS), tokens(7)
    short = eqx.tree_at(
        lambda m: (m.keys.weight, m.values.weight), mixer, (mixer.keys.weight[:, :7], mixer.values.weight[:, :7])
    )
    rows, mask = pad(x, np.arange(7))
    padded = eqx.filter_jit(mixer)(rows, mask=mask).tokens
    assert relative_error(padded[:7], eqx.filter_jit(short)(x).tokens) < 1e-12


@pytest.mark.parametrize(
    "name", ["mttt-mlp-sgd3", "ttt-kernel", "self-attention", "elu-linear-attention", "soft", "hyena", *CAUSAL]
)
def test_an_input_without_any_real_token_is_finite(name):
    """A batch may be filled up with such inputs."""
    mixer, x = build(CAUSAL.get(name) or maker(name, LONG), DIM, HEADS, name=(name, LONG)), tokens(LONG)

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(variables):
        mixer, x = variables
        return jnp.sum(mixer(x, mask=jnp.zeros(LONG, bool)).tokens ** 2) + 0.0

    assert all(bool(jnp.all(a == 0)) for a in jax.tree.leaves(gradient((mixer, x))))


def test_what_may_mix_tokens_takes_no_mask():
    x, mask = tokens(), jnp.ones(7, bool)
    with pytest.raises(ValueError, match=r"Stranger may mix tokens.*Make it a TokenwiseLearner"):
        build(partial(mttt.TTT, learner=Stranger), DIM, HEADS)(x, mask=mask)
    with pytest.raises(ValueError, match=r"Denoising sees all tokens at once.*Make it a TokenwiseTask"):
        build(ttt(task="own"), DIM, HEADS)(x, mask=mask)


def test_a_model_with_a_mask_is_the_model_of_the_short_input(float64):
    """Through blocks and the final mean."""

    def draw(key):
        return mttt.Stack(DIM, 2, HEADS, mixer=ttt(batching="mini", steps=2), key=key)

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


def test_inner_losses_of_no_real_token_are_0():
    """As those of `TTT`; a mean over nothing would be NaN."""
    rows, nobody = tokens(), jnp.zeros(len(tokens()), bool)
    for name in ("mttt-mlp", "causal-mttt"):
        mixer = build(CAUSAL.get(name) or MIXERS[name], DIM, HEADS)
        losses = eqx.filter_jit(lambda m, x, mask: m(x, mask=mask, trace=True).losses)(mixer, rows, nobody)
        assert losses is not None and not np.any(np.asarray(losses)), name
