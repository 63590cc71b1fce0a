"""Linformer."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import DIM, HEADS, N, build, relative_error, tokens
from mttt.mixers.linformer import AlongTokens


def make(n=N, rank=3):
    return build(partial(mttt.Linformer, tokens=n, rank=rank), DIM, HEADS)


def test_with_the_identity_for_e_and_f_it_is_self_attention():
    mixer, x = make(rank=N), tokens()
    identity = eqx.tree_at(lambda m: (m.keys.weight, m.values.weight), mixer, (jnp.eye(N), jnp.eye(N)))
    attention = eqx.tree_at(
        lambda a: (a.views, a.merge), mttt.SelfAttention(DIM, HEADS, key=jax.random.key(9)), (mixer.views, mixer.merge)
    )
    mix = eqx.filter_jit(lambda m, x: m(x).tokens)
    assert relative_error(mix(identity, x), mix(attention, x)) < 1e-5
    assert relative_error(mix(mixer, x), mix(attention, x)) > 0.1


def test_keys_and_values_are_projected_along_the_tokens(float64):
    mixer, x = make(), tokens()
    q, k, v = (
        jnp.einsum("nd,hdk->hnk", x, view.weight) + view.bias[:, None, :]
        for view in (mixer.views.query, mixer.views.key, mixer.views.value)
    )
    k, v = jnp.einsum("rn,hnk->hrk", mixer.keys.weight, k), jnp.einsum("rn,hnk->hrk", mixer.values.weight, v)
    weights = jax.nn.softmax(jnp.einsum("hnk,hrk->hnr", q, k) / (DIM // HEADS) ** 0.5, axis=2)
    expected = mixer.merge(jnp.einsum("hnr,hrk->hnk", weights, v))
    assert relative_error(eqx.filter_jit(mixer)(x).tokens, expected) < 1e-6  # JAX's softmax is float32


def test_it_is_linear_in_the_number_of_tokens(cost):
    (flops, memory), (double_flops, double_memory) = (cost(partial(mttt.Linformer, tokens=n), n) for n in (1024, 2048))
    assert 1.8 < double_flops / flops < 2.05
    assert double_memory / memory < 2.05


def test_the_rank_is_at_most_the_number_of_tokens():
    assert make(rank=100).keys.weight.shape == (N, N)
    assert make().values.weight.shape == (3, N)


def test_another_number_of_tokens_is_refused():
    with pytest.raises(ValueError, match=r"n=9 tokens; this Linformer was built for tokens=7"):
        make()(tokens(9))
    with pytest.raises(ValueError, match="rank=0"):
        make(rank=0)


def test_decay_is_for_e_and_f_too():
    along = AlongTokens(N, 3, key=jax.random.key(0))
    assert mttt.kernels(along).weight is True
    assert 0.5 < float(jnp.std(along.weight)) / np.sqrt(2 / (N + 3)) < 1.5  # Xavier
