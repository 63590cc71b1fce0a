"""The inverse of a unit triangle, and systems of equations with one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mttt.nn.triangle import solve_unit_lower, unit_lower_inverse


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
def test_it_is_the_inverse(n, float64):
    below = jnp.asarray(np.random.default_rng(0).normal(size=(n, n)))
    weights = jnp.asarray(np.random.default_rng(1).normal(size=(n, n)))

    def with_slope(inverse):
        def weighted(below):
            found = inverse(below)
            return jnp.sum(weights * found), found

        slope, found = jax.jit(jax.grad(weighted, has_aux=True))(below)
        return found, slope

    ours, plain = map(with_slope, (unit_lower_inverse, lambda a: jnp.linalg.inv(jnp.eye(n) + jnp.tril(a, -1))))
    np.testing.assert_allclose(ours[0], plain[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours[1], plain[1], rtol=1e-9, atol=1e-9)


def test_it_solves(float64):
    """The same as a product with the inverse: values, gradients, and gradients of gradients."""
    draw = np.random.default_rng(2).normal
    below, first, second, weights = (jnp.asarray(draw(size=shape)) for shape in ((5, 5), (5, 3), (5, 2), (5, 5)))

    def solved(below, first, second):
        return jnp.concatenate(solve_unit_lower(below, (first, second)), axis=1)

    def inverted(below, first, second):
        return jnp.linalg.inv(jnp.eye(5) + jnp.tril(below, -1)) @ jnp.concatenate([first, second], axis=1)

    def slope(function):
        return jax.grad(lambda *given: jnp.sum(jnp.sin(function(*given)) * weights), argnums=(0, 1, 2))

    def curve(function):
        return jax.grad(lambda *given: sum(jnp.sum(s**2) for s in slope(function)(*given)), argnums=(0, 1, 2))

    for made in (lambda function: function, slope, curve):
        ours, plain = (jax.tree.leaves(jax.jit(made(f))(below, first, second)) for f in (solved, inverted))
        for one, other in zip(ours, plain, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def test_rows_that_are_alike_lose_no_digits():
    """All keys the same, β = 1: powers of the triangle grow to 10¹⁸, its inverse has ones."""
    inverse = jax.jit(unit_lower_inverse)(jnp.ones((64, 64), jnp.float32))
    np.testing.assert_array_equal(inverse, np.eye(64) - np.eye(64, k=-1))
