"""Rotary positions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt


def rows(n, k, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(n, k)), float)


def test_pairs_are_complex_numbers_that_turn(float64):
    x, places = np.asarray(rows(5, 6)), np.array([0, 1, 7, 4095, 10**6 + 3])
    angle = places[:, None] * 100.0 ** (-2 * np.arange(3) / 6)[None, :]
    turned = (x[:, :3] + 1j * x[:, 3:]) * np.exp(1j * angle)
    got = mttt.Rotary(100.0)(jnp.asarray(x), jnp.asarray(places))
    assert np.allclose(got, np.concatenate([turned.real, turned.imag], axis=1), atol=1e-9)


def test_products_depend_on_the_distance(float64):
    x, rotary = rows(2, 8), mttt.Rotary()

    def product(first, second):
        query, key = rotary(x, jnp.array([first, second]))
        return float(query @ key)

    assert product(9, 4) == pytest.approx(product(105, 100), rel=1e-12)
    assert abs(product(9, 4) - product(9, 5)) > 1e-3


def test_places_of_millions_have_digits_in_float32():
    x, far = rows(2, 16), jnp.array([3_000_003, 3_000_000])
    got = mttt.Rotary()(x, far)
    with jax.enable_x64(True):
        exact = mttt.Rotary()(x.astype(jnp.float64), far)
    assert np.max(np.abs(np.asarray(got) - np.asarray(exact))) < 2e-3
    assert mttt.Rotary()(x.astype(jnp.bfloat16), far).dtype == jnp.bfloat16


@pytest.mark.usefixtures("as_users_run_it")
def test_what_cannot_be_meant_is_refused():
    key = jax.random.key(0)
    for base in (0.0, float("inf"), -1):
        with pytest.raises(ValueError, match="base="):
            mttt.Rotary(base)
    with pytest.raises(ValueError, match="heads of width 3: Rotary rotates pairs"):
        mttt.CausalSelfAttention(6, 2, key=key)
    assert mttt.CausalSelfAttention(6, 2, positions=None, key=key).positions is None
    with pytest.raises(TypeError, match=r"positions is 100; expected an instance of Rotary, for example Rotary\(\)"):
        mttt.SlidingWindow(8, 2, window=4, positions=100, key=key)
