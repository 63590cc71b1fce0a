"""SOFT."""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import DIM, HEADS, N, build, relative_error, tokens
from mttt.mixers.soft import gaussian, pseudo_inverse, segment_means


def make(landmarks, iterations=20):
    return build(partial(mttt.SOFT, landmarks=landmarks, iterations=iterations), DIM, HEADS)


def exact(mixer, x):
    """Every token with every token, by the formula."""
    q, v = (jnp.einsum("nd,hdk->hnk", x, view.weight) + view.bias[:, None, :] for view in (mixer.query, mixer.value))
    distances = jnp.sum((q[:, :, None, :] - q[:, None, :, :]) ** 2, axis=3)
    kernel = jnp.exp(-distances / (2 * q.shape[2] ** 0.5))
    return mixer.merge(jnp.einsum("hij,hjk->hik", kernel, v))


def test_with_all_tokens_as_landmarks_the_kernel_is_exact(float64):
    x = tokens()
    mix = eqx.filter_jit(lambda m, x: m(x).tokens)
    for landmarks in (N, 49):
        assert relative_error(mix(make(landmarks), x), exact(make(N), x)) < 1e-9
    assert relative_error(mix(make(3), x), exact(make(3), x)) > 0.01, "and with fewer it is an approximation"


def test_nystrom_is_exact_where_tokens_are_their_segments_means(float64):
    """Three different tokens, each four times: three landmarks say it all."""
    x = jnp.repeat(tokens(3), 4, axis=0)
    assert relative_error(eqx.filter_jit(make(3))(x).tokens, exact(make(3), x)) < 1e-9


@pytest.mark.parametrize("rank", ["full", "deficient", "one"])
def test_newton_and_raphson_find_the_pseudo_inverse(float64, rank):
    points = {"full": tokens(6, 3), "deficient": jnp.repeat(tokens(3, 3), 2, axis=0), "one": jnp.ones((6, 3))}[rank]
    gram = gaussian(points, points)
    assert relative_error(pseudo_inverse(gram, 30), jnp.linalg.pinv(gram, rtol=1e-10)) < 1e-6
    assert relative_error(pseudo_inverse(gram, 2), jnp.linalg.pinv(gram, rtol=1e-10)) > 1e-3 or rank == "one"


def test_the_gaussian_kernel_is_its_formula(float64):
    x, y = tokens(4, 3), tokens(5, 3, seed=2)
    expected = np.exp(-0.5 * np.sum((np.asarray(x)[:, None] - np.asarray(y)[None]) ** 2, axis=2))
    assert relative_error(gaussian(x, y), jnp.asarray(expected)) < 1e-12


@pytest.mark.parametrize(("n", "count"), [(6, 3), (7, 3), (8, 3), (5, 5), (5, 1)])
def test_segments_are_contiguous_and_of_almost_one_size(n, count):
    rows = tokens(n, 2)
    expected = np.stack([part.mean(0) for part in np.array_split(np.asarray(rows), count)])
    assert relative_error(segment_means(rows, count), jnp.asarray(expected)) < 1e-6


def test_it_is_linear_in_the_number_of_tokens(cost):
    (flops, memory), (double_flops, double_memory) = (cost(partial(mttt.SOFT, landmarks=8), n) for n in (1024, 2048))
    assert 1.9 < double_flops / flops < 2.05
    assert double_memory / memory < 2.05


def test_what_cannot_be_meant_is_refused():
    for wrong, name in (((0, 1), "landmarks"), ((1, 0), "iterations")):
        with pytest.raises(ValueError, match=f"{name}=0: expected"):
            make(*wrong)
