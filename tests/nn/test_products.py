"""The three products and their derivatives, against plain einsum."""

import jax
import jax.numpy as jnp
import pytest

from catalogue import relative_error, tokens
from mttt.nn.products import backward, forward, outer

PRODUCTS = {
    "forward": (forward, "ni,io->no", (5, 3), (3, 4)),
    "backward": (backward, "no,io->ni", (5, 4), (3, 4)),
    "outer": (outer, "ni,no->io", (5, 3), (5, 4)),
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

    assert relative_error(derivatives(product), derivatives(lambda a, b: jnp.einsum(formula, a, b))) < 1e-12
