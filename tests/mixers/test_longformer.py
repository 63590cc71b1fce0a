"""Longformer."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import mttt
from catalogue import DIM, HEADS, build, relative_error, tokens


def make(window, global_tokens=0):
    return build(partial(mttt.Longformer, window=window, global_tokens=global_tokens), DIM, HEADS)


def dense(mixer, x):
    """The same with n × n scores and a mask, as the formula says it."""

    def views(views):
        return (
            jnp.einsum("nd,hdk->hnk", x, view.weight) + view.bias[:, None, :]
            for view in (views.query, views.key, views.value)
        )

    def attention(q, k, v, mask):
        scores = jnp.einsum("hik,hjk->hij", q, k) / k.shape[2] ** 0.5
        weights = jnp.where(mask[None], jnp.exp(scores), 0)
        return jnp.einsum("hij,hjk->hik", weights / jnp.sum(weights, axis=2, keepdims=True), v)

    i, j = jnp.arange(len(x))[:, None], jnp.arange(len(x))[None, :]
    near = (abs(i - j) <= mixer.window // 2) | (j < mixer.global_tokens)
    out = attention(*views(mixer.views), near)
    if mixer.global_tokens:
        everywhere = attention(*views(mixer.global_views), jnp.ones_like(near))
        out = jnp.where((i < mixer.global_tokens)[None], everywhere, out)
    return mixer.merge(out)


def gradient(mix, mixer, x):
    def outer(variables):
        out = mix(*variables)
        return jnp.sum(jnp.sin(3 * out)), out

    (_, out), gradients = eqx.filter_jit(eqx.filter_value_and_grad(outer, has_aux=True))((mixer, x))
    return out, gradients


@pytest.mark.parametrize(
    ("n", "window", "global_tokens"),
    [(20, 4, 0), (21, 6, 2), (13, 4, 5), (9, 6, 0), (8, 6, 3), (5, 512, 0), (4, 2, 4), (1, 2, 1)],
)
def test_it_is_self_attention_with_a_band_mask(float64, n, window, global_tokens):
    """Blocks that divide n and that do not, more global tokens than a window, one block, one token."""
    mixer, x = make(window, global_tokens), tokens(n)
    got = gradient(lambda mixer, x: mixer(x).tokens, mixer, x)
    assert relative_error(got, gradient(dense, mixer, x)) < 1e-5  # JAX's softmax is float32


def test_a_window_that_covers_all_tokens_is_self_attention():
    mixer, x = make(16), tokens(9)
    attention = eqx.tree_at(
        lambda a: (a.views, a.merge), mttt.SelfAttention(DIM, HEADS, key=jax.random.key(9)), (mixer.views, mixer.merge)
    )
    mix = eqx.filter_jit(lambda m, x: m(x).tokens)
    assert relative_error(mix(mixer, x), mix(attention, x)) < 1e-6
    assert relative_error(mix(make(14), x), mix(attention, x)) > 1e-3


def test_it_is_linear_in_the_number_of_tokens(cost):
    make = partial(mttt.Longformer, window=32, global_tokens=2)
    (flops, memory), (double_flops, double_memory) = (cost(make, n) for n in (1024, 2048))
    assert 1.9 < double_flops / flops < 2.05
    assert double_memory / memory < 2.05
    assert memory < 4 * 1024**2, "not even one n × n array"


def test_what_cannot_be_meant_is_refused():
    for window in (0, 5, -2):
        with pytest.raises(ValueError, match=f"window={window}: (half of it|expected)"):
            make(window)
    with pytest.raises(ValueError, match="global_tokens=-1"):
        make(4, -1)
    with pytest.raises(ValueError, match="global_tokens=5: there are only n=3 tokens"):
        make(4, 5)(tokens(3))
    assert make(4).global_views is None, "no parameters without a use"
