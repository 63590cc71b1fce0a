"""The inverse of a triangle of ones and numbers below them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def _invert(below: Float[Array, "n n"]) -> Float[Array, "n n"]:
    n = below.shape[0]
    size = 1 << max(n - 1, 0).bit_length()
    whole = jnp.eye(size, dtype=below.dtype).at[:n, :n].add(jnp.tril(below, -1))
    inverse = jnp.ones((size, 1, 1), below.dtype)
    while inverse.shape[0] > 1:
        # Two inverses on the diagonal, and what is below the first one: (A 0; B C)⁻¹ = (A⁻¹ 0; −C⁻¹BA⁻¹ C⁻¹).
        count, width = inverse.shape[0] // 2, inverse.shape[1]
        first, second = inverse[0::2], inverse[1::2]
        blocks = whole.reshape(count, 2 * width, count, 2 * width)
        corner = jnp.einsum("ciCj,cC->cij", blocks[:, width:, :, :width], jnp.eye(count, dtype=below.dtype))
        lower = -second @ corner @ first
        top = jnp.concatenate([first, jnp.zeros_like(first)], axis=2)
        inverse = jnp.concatenate([top, jnp.concatenate([lower, second], axis=2)], axis=1)
    return inverse[0, :n, :n]


@jax.custom_vjp
def unit_lower_inverse(below: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """(I + tril(A, −1))⁻¹, from the diagonal outwards: log₂ n rounds of products, as accurate as substitution.

    Products of powers of A are as few, but lose all digits where the rows of A are alike. Substitution is a loop.
    """
    return _invert(below)


def _forward(below: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    inverse = unit_lower_inverse(below)
    return inverse, inverse


unit_lower_inverse.defvjp(_forward, lambda inverse, ct: (-jnp.tril(inverse.T @ ct @ inverse.T, -1),))
