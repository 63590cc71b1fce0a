"""The products and their derivatives, against plain einsum."""

import jax
import jax.numpy as jnp
import pytest

from catalogue import relative_error, tokens
from mttt.nn.products import backward, forward, outer, quadratic

PRODUCTS = {
    "forward": (forward, "ni,io->no", (5, 3), (3, 4)),
    "backward": (backward, "no,io->ni", (5, 4), (3, 4)),
    "outer": (outer, "ni,no->io", (5, 3), (5, 4)),
    "quadratic": (lambda x, a: quadratic(x, (a + a.T) / 2), "ni,ij,nj->n", (5, 3), (3, 3)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_three_orders_of_derivatives(float64, name):
    product, formula, first, second = PRODUCTS[name]
    operands = tokens(*first, seed=1), tokens(*second, seed=2)

    def derivatives(function):
        def scalar(a, b):
            return jnp.sum(jnp.sin(function(a, b)))

        def contracted(order):
            """Sum of squares of the derivatives of one order below: its gradient needs the next order."""
            if order == 0:
                return scalar
            below = jax.grad(contracted(order - 1), argnums=(0, 1))
            return lambda a, b: sum(jnp.sum(g**2) for g in below(a, b))

        return [jax.grad(contracted(order), argnums=(0, 1))(*operands) for order in range(3)]

    def plain(a, b):
        return jnp.einsum(formula, *((a, b) if formula.count(",") == 1 else (a, b, a)))

    assert relative_error(derivatives(product), derivatives(plain)) < 1e-12


def test_the_derivative_of_a_quadratic_form_takes_no_second_product():
    x, a = jnp.ones((512, 32)), jnp.eye(32)
    step = jax.jit(jax.value_and_grad(lambda x, a: jnp.sum(quadratic(x, a))))
    assert step.lower(x, a).compile().cost_analysis()["flops"] < 1.2 * 2 * x.size * 32
