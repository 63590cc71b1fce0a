"""Triangles of ones and numbers below them: their inverse, and systems of equations."""

from typing import Any

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


@jax.custom_vjp
def solve_unit_lower(
    below: Float[Array, "n n"], rights: tuple[Float[Array, "n _"], ...]
) -> tuple[Float[Array, "n _"], ...]:
    """X = (I + tril(A, −1))⁻¹R for each R of `rights`.

    The backward pass makes Y = (I + …)⁻ᵀ dX, which is dR, and dA = −tril(YXᵀ, −1). Through the inverse it would take
    two products more.
    """
    inverse = unit_lower_inverse(below)
    return tuple(inverse @ right for right in rights)


def _solve_forward(below: Float[Array, "n n"], rights: tuple[Float[Array, "n _"], ...]) -> tuple[Any, Any]:
    inverse = unit_lower_inverse(below)
    found = tuple(inverse @ right for right in rights)
    return found, (inverse, found)


def _solve_backward(kept: Any, cotangents: tuple[Float[Array, "n _"], ...]) -> tuple[Any, Any]:
    inverse, found = kept
    back = tuple(inverse.T @ cotangent for cotangent in cotangents)
    return -jnp.tril(sum(y @ x.T for y, x in zip(back, found, strict=True)), -1), back


solve_unit_lower.defvjp(_solve_forward, _solve_backward)
