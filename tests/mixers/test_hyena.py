"""Hyena."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

import mttt
from catalogue import DIM, HEADS, build, relative_error, tokens
from mttt.mixers.hyena import convolve


def make(order=2):
    return build(partial(mttt.Hyena, order=order, width=5, bands=2), DIM, HEADS)


def around(n, dim=3):
    """A filter for the offsets −(n − 1) … n − 1, and the same in the order of the circle."""
    taps = np.asarray(tokens(2 * n - 1, dim, seed=5))
    return taps, jnp.asarray(np.concatenate([taps[n - 1 :], np.zeros((1, dim)), taps[: n - 1]]))


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_convolution_by_frequencies_is_convolution(float64, n):
    x, (taps, circle) = tokens(n, 3), around(n)
    expected = [np.convolve(np.asarray(x)[:, c], taps[:, c])[n - 1 : 2 * n - 1] for c in range(3)]
    assert relative_error(convolve(x, circle), jnp.asarray(np.stack(expected, axis=1))) < 1e-12


def test_it_is_its_formula(float64):
    """Projections, short convolution, and a dense n × n matrix for each filter and feature."""
    mixer, x = make(), tokens(9)

    def project(inside, short):
        projected = np.asarray(x @ inside.weight + inside.bias[None, :])
        taps = np.asarray(short.weight)[::-1]
        mixed = [np.convolve(projected[:, c], taps[:, c])[1:-1] for c in range(DIM)]
        return jnp.asarray(np.stack(mixed, axis=1)) + short.bias[None, :]

    v, x1, x2 = map(project, mixer.inside, mixer.short)
    filters = np.asarray(eqx.filter_jit(lambda filters: filters(9, jnp.dtype("float64")))(mixer.filters))
    place = np.arange(9)[:, None] - np.arange(9)[None, :]  # a negative offset is a place from the end
    z = v
    for gate, taps, skip in zip((x1, x2), filters, mixer.skip, strict=True):
        z = gate * (jnp.einsum("tsd,sd->td", taps[place], z) + skip[None, :] * z)
    assert relative_error(eqx.filter_jit(mixer)(x).tokens, mixer.out(z)) < 1e-12


def test_filters_decay_with_the_distance_and_keep_their_shape(float64):
    filters = build(partial(mttt.Hyena, width=5, bands=2), DIM, HEADS, scale=0.0).filters
    short, long = map(np.asarray, eqx.filter_jit(lambda f: [f(n, jnp.dtype("float64")) for n in (50, 100)])(filters))
    assert short.shape == (2, 100, DIM)
    assert relative_error(jnp.asarray(long[:, :100:2] * 2**0.5), jnp.asarray(short[:, :50])) < 1e-9
    sizes = np.abs(long[:, :100]).reshape(2, 4, 25, DIM).max(axis=(0, 2))
    assert (sizes[-1, -1] < 1e-4 * sizes[0, -1]) and (sizes[-1, 0] < 0.5 * sizes[0, 0]), "fast and slow channels"
    assert sizes[-1, 0] > 1e-3 * sizes[0, 0]
    near, far = np.abs(long[:, 175:, -1]), np.abs(long[:, 101:126, -1])  # offsets −25 … −1 and −99 … −75
    assert far.max() < 1e-4 * near.max(), "and so in the other direction"
    assert not short[:, 50].any(), "nothing at ±n"


@pytest.mark.parametrize("order", [1, 2, 3])
def test_every_token_sees_every_token(order):
    mixer, x = make(order), tokens(8)
    jacobian = eqx.filter_jit(jax.jacrev(lambda x: jnp.sum(mixer(x).tokens, axis=1)))(x)
    assert (jnp.sum(abs(jacobian), axis=2) > 1e-6).all(), "before and after"


def arrays(jaxpr):
    """The shapes of everything a program makes, in programs inside it too."""
    for equation in jaxpr.eqns:
        yield from (variable.aval.shape for variable in equation.outvars)
        for inside in jaxprs_in_params(equation.params):
            yield from arrays(inside)


def test_no_array_is_quadratic_in_the_number_of_tokens(cost):
    n, mixer = 101, make()
    shapes = list(arrays(jax.make_jaxpr(lambda x: mixer(x).tokens)(tokens(n)).jaxpr))
    assert (n, DIM) in shapes
    assert not [shape for shape in shapes if sum(size >= n for size in shape) > 1]
    (flops, memory), (double_flops, double_memory) = (
        cost(partial(mttt.Hyena, width=5, bands=2), n) for n in (512, 1024)
    )
    assert double_flops / flops < 2.3
    assert double_memory / memory < 2.05


def test_any_number_of_heads_and_of_tokens():
    mixer = mttt.Hyena(6, 5, key=jax.random.key(0))  # 5 does not divide 6
    for n in (1, 2, 5):
        assert eqx.filter_eval_shape(mixer, tokens(n, 6)).tokens.shape == (n, 6)
    with pytest.raises(ValueError, match="order=0: expected"):
        mttt.Hyena(6, 1, order=0, key=jax.random.key(0))
