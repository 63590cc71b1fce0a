"""What the paper says is the same, is the same."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import mttt
from catalogue import DIM, HEADS, build, relative_error, to_float64, tokens, ttt
from mttt.mixers.heads import Views
from mttt.nn import Dense


def as_attention(layer: mttt.TTT, kind):
    """The attention layer that a TTT layer is equal to: φ, ψ, θ_g are key, query and value, value bias −θ_g·b_g."""
    value_weight = jnp.swapaxes(layer.task.g.weight, 1, 2)
    value_bias = -jnp.einsum("hkd,d->hk", layer.task.g.weight, layer.task.g.bias.value)
    attention = kind(DIM, HEADS, key=jax.random.key(9))
    value = eqx.tree_at(lambda d: (d.weight, d.bias), attention.views.value, (value_weight, value_bias))
    return eqx.tree_at(
        lambda a: (a.views.query, a.views.key, a.views.value, a.merge),
        attention,
        (layer.psi, layer.task.phi, value, layer.merge),
    )


def outputs_and_gradients(layer, x, kind=None):
    """Of the layer itself, or of the attention layer made of its parameters; gradients by the layer's parameters."""

    def outer(variables):
        layer, x = variables
        mixer = layer if kind is None else as_attention(layer, kind)
        out = mixer(x).tokens
        return jnp.sum(jnp.sin(3 * out)), out

    (_, out), gradients = eqx.filter_jit(eqx.filter_value_and_grad(outer, has_aux=True))((layer, x))
    return out, gradients


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mttt_linear_is_identity_linear_attention(dtype):
    with jax.enable_x64(dtype == "float64"):
        layer, x = build(ttt("zero-linear", "plain"), DIM, HEADS), tokens(n=31)
        got = outputs_and_gradients(layer, x)
        expected = outputs_and_gradients(layer, x, mttt.LinearAttention)
        assert float(jnp.max(jnp.abs(expected[0]))) > 0.1, "nothing is compared to nothing"
        assert relative_error(got, expected) < (1e-5 if dtype == "float32" else 1e-12)


def test_nadaraya_watson_is_softmax_attention():
    layer, x = build(ttt("exponential", "plain"), DIM, HEADS), tokens(n=31)
    got = outputs_and_gradients(layer, x)
    assert relative_error(got, outputs_and_gradients(layer, x, mttt.SelfAttention)) < 1e-5


def test_nadaraya_watson_is_softmax_attention_in_float64(float64):
    """Against the formula: JAX's own attention takes the softmax in float32."""

    class Formula(mttt.SelfAttention):
        def mix(self, tokens, *, mask, key, trace):
            q, k, v = (
                jnp.einsum("nd,hdk->hnk", tokens, view.weight) + view.bias[:, None, :]
                for view in (self.views.query, self.views.key, self.views.value)
            )
            weights = jnp.exp(jnp.einsum("hik,hjk->hij", q, k) / k.shape[2] ** 0.5)
            weights = weights / jnp.sum(weights, axis=2, keepdims=True)
            return mttt.Mixed(self.merge(jnp.einsum("hij,hjk->hik", weights, v)))

    layer, x = build(ttt("exponential", "plain"), DIM, HEADS), tokens(n=31)
    assert relative_error(outputs_and_gradients(layer, x), outputs_and_gradients(layer, x, Formula)) < 1e-12


def test_both_normalisations_match_their_linear_attention(float64):
    task = partial(mttt.Reconstruction, decoder_norm=False, divisor=1.0)
    layer = build(partial(mttt.TTT, learner=mttt.LinearLearner, start=mttt.Zeros, task=task), DIM, HEADS)
    x = tokens()
    got = outputs_and_gradients(layer, x)
    assert relative_error(got, outputs_and_gradients(layer, x, partial(mttt.LinearAttention, divisor=1.0))) < 1e-12
    by_hand = as_attention(layer, mttt.LinearAttention)
    views: Views = by_hand.views
    q, k, v = (
        jnp.einsum("nd,hdk->hnk", x, d.weight) + d.bias[:, None, :] for d in (views.query, views.key, views.value)
    )
    formula = jnp.einsum("hik,hjk,hjl->hil", q, k, v) / len(x)
    out = jnp.einsum("hnk,hkd->nd", formula, layer.merge.weight) + layer.merge.bias[None, :]
    assert relative_error(got[0], out) < 1e-12


def test_elu_linear_attention_is_its_formula(float64):
    mixer = build(mttt.EluLinearAttention, DIM, HEADS)
    x = tokens()

    def view(dense: Dense):
        return jnp.einsum("nd,hdk->hnk", x, dense.weight) + dense.bias[:, None, :]

    q, k, v = view(mixer.views.query), view(mixer.views.key), view(mixer.views.value)
    feature = lambda a: jnp.where(a > 0, a + 1, jnp.exp(a))  # noqa: E731
    weights = jnp.einsum("hik,hjk->hij", feature(q), feature(k))
    weights = weights / jnp.sum(weights, axis=2, keepdims=True)
    out = jnp.einsum("hij,hjk,hkd->id", weights, v, mixer.merge.weight) + mixer.merge.bias[None, :]
    assert relative_error(eqx.filter_jit(mixer)(x).tokens, out) < 1e-12


def test_gaussian_kernel_is_its_formula(float64):
    estimator = mttt.NadarayaWatson(4, kernel=mttt.GaussianKernel(0.7))
    points, queries, labels = tokens(9, 4), tokens(5, 4, seed=2), tokens(9, 4, seed=3)
    distance = jnp.sum((queries[:, None, :] - points[None, :, :]) ** 2, axis=2)
    kappa = jnp.exp(-distance / (2 * 0.7**2))
    expected = (kappa @ labels) / jnp.sum(kappa, axis=1, keepdims=True)
    assert relative_error(estimator.fit(points, labels)(queries), expected) < 1e-12


def test_float64_of_float32_parameters_is_close():
    layer, x = build(ttt(), DIM, HEADS), tokens()
    single = outputs_and_gradients(layer, x)
    with jax.enable_x64(True):
        assert relative_error(to_float64(single), outputs_and_gradients(*to_float64((layer, x)))) < 1e-4


def test_flops_of_mttt_linear_are_those_of_linear_attention():
    dim, heads = 384, 6

    def flops(kind):
        mixer = eqx.filter_eval_shape(lambda: kind(dim, heads, key=jax.random.key(0)))
        is_shape = lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)  # noqa: E731
        arrays, rest = eqx.partition(mixer, is_shape)
        x = jax.ShapeDtypeStruct((196, dim), jnp.float32)
        lowered = jax.jit(lambda arrays, x: eqx.combine(arrays, rest)(x).tokens).lower(arrays, x)
        return lowered.compile().cost_analysis()["flops"]

    ratio = flops(ttt("zero-linear", "plain")) / flops(mttt.LinearAttention)
    assert 0.99 < ratio < 1.01
