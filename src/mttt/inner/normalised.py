"""The loss of a reconstruction through Decoder LN, and its gradient, with their derivatives written out.

    ℓ = ½s²b + sl + ½‖β‖²    a = z̃Vz̃ᵀ = dσ²    b = z̃Sz̃ᵀ    l = z·(q − u) + t − w    s = (a/d + ε)^(−½)
    ∂ℓ/∂z = α(zA + c) + s²(zB + p) + s(q − u)                  α = −s³(sb + l)/d

with z̃ = (z, 1). V holds A, c and e of `reconstruction.py`, S holds B, p, r, and q, t, ‖β‖² in its last row; both are
symmetric. The inner loop needs ∂ℓ/∂z, the outer loop its derivative. Automatic differentiation finds that one as well,
as a program of more than twice as many parts, which takes longer to compile (`mttt bench compile`).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mttt.nn.products import forward, outer


class Forms(NamedTuple):
    """What the loss has to know besides a row's answer z."""

    value: Float[Array, "n k"]  # u
    offset: Float[Array, " n"]  # w
    variance: Float[Array, "v v"]  # V
    scaled: Float[Array, "s s"]  # S
    most: Float[Array, ""]  # b is at most so many times a


class Parts(NamedTuple):
    """What the loss and its derivatives are made of, for each row."""

    variance: Float[Array, "n k"]  # zA + c
    scaled: Float[Array, "n k"]  # zB + p
    residual: Float[Array, "n k"]  # q − u
    a: Float[Array, " n"]
    b: Float[Array, " n"]
    l: Float[Array, " n"]  # noqa: E741
    s: Float[Array, " n"]


def _parts(z: Float[Array, "n k"], forms: Forms, dim: int, eps: float) -> Parts:
    k = z.shape[1]

    def quadratic(m: Float[Array, "m m"]) -> tuple[Float[Array, "n k"], Float[Array, " n"]]:
        half = forward(z, m[:k, :k]) + m[:k, k][None, :]
        return half, jnp.sum(z * (half + m[:k, k][None, :]), axis=1) + m[k, k]

    (variance, a), (scaled, b) = quadratic(forms.variance), quadratic(forms.scaled)
    residual = forms.scaled[:k, k + 1][None, :] - forms.value
    linear = jnp.sum(z * residual, axis=1) + forms.scaled[k, k + 1] - forms.offset
    # A sum of squares, but summed up otherwise: rounding could take it below 0.
    s = jax.lax.rsqrt(jnp.where(a > 0, a, 0) / dim + eps)
    return Parts(variance, scaled, residual, a, b, linear, s)


def _sum(parts: Parts, b: Float[Array, " n"], forms: Forms) -> Float[Array, " n"]:
    return parts.s * (0.5 * parts.s * b + parts.l) + 0.5 * forms.scaled[-1, -1]


def _losses(z: Float[Array, "n k"], forms: Forms, dim: int, eps: float) -> Float[Array, " n"]:
    """ℓ of every row."""
    parts = _parts(z, forms, dim, eps)
    # Where rounding is all there is of a and b (an answer that the decoder maps to next to nothing), s² is large, and
    # they have to agree.
    return _sum(parts, jnp.clip(parts.b, 0, forms.most * jnp.maximum(parts.a, 0)), forms)


def _losses_backward(
    dim: int, eps: float, kept: tuple[Float[Array, "n k"], Forms], ct: Float[Array, " n"]
) -> tuple[Float[Array, "n k"], Forms]:
    z, forms = kept
    # Only ∂ℓ/∂z is used by an inner step.
    parts = _parts(z, forms, dim, eps)
    by_s, by_a = ct * parts.s, 0.5 * ct * _alpha(parts, dim)
    extended = _extended(z)
    variance = outer(extended, by_a[:, None] * extended)
    scaled = outer(extended, jnp.concatenate([(0.5 * by_s * parts.s)[:, None] * extended, by_s[:, None]], axis=1))
    last = jnp.zeros_like(scaled[:1]).at[0, -1].set(0.5 * jnp.sum(ct))
    scaled = jnp.concatenate([scaled, last])
    others = Forms(-by_s[:, None] * z, -by_s, variance, scaled, jnp.zeros_like(forms.most))
    return ct[:, None] * slope(z, forms, dim, eps), others


def _extended(z: Float[Array, "n k"]) -> Float[Array, "n v"]:
    """z̃ of every row."""
    return jnp.concatenate([z, jnp.ones_like(z[:, :1])], axis=1)


losses = jax.custom_vjp(_losses, nondiff_argnums=(2, 3))
losses.defvjp(lambda z, forms, dim, eps: (losses(z, forms, dim, eps), (z, forms)), _losses_backward)


def _slope(z: Float[Array, "n k"], forms: Forms, dim: int, eps: float) -> Float[Array, "n k"]:
    """∂ℓ/∂z of every row."""
    return _slope_forward(z, forms, dim, eps)[0]


def _slope_forward(
    z: Float[Array, "n k"], forms: Forms, dim: int, eps: float
) -> tuple[Float[Array, "n k"], tuple[Float[Array, "n k"], Forms, Parts]]:
    parts = _parts(z, forms, dim, eps)
    s = parts.s[:, None]
    out = _alpha(parts, dim)[:, None] * parts.variance + s * (s * parts.scaled + parts.residual)
    return out, (z, forms, parts)


def _alpha(parts: Parts, dim: int) -> Float[Array, " n"]:
    return jnp.where(parts.a > 0, -(parts.s**3) * (parts.s * parts.b + parts.l) / dim, 0)


def _slope_backward(
    dim: int, eps: float, kept: tuple[Float[Array, "n k"], Forms, Parts], ct: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Forms]:
    z, forms, parts = kept
    k, s = z.shape[1], parts.s
    # Cotangents of α, b, l, s and a. Where a was cut off at 0, α and s do not depend on z.
    alpha = jnp.where(parts.a > 0, jnp.sum(ct * parts.variance, axis=1), 0) / dim
    b, linear = -alpha * s**4, -alpha * s**3
    ct_s = jnp.sum(ct * (2 * s[:, None] * parts.scaled + parts.residual), axis=1)
    ct_s = ct_s - alpha * s**2 * (4 * s * parts.b + 3 * parts.l)
    a = jnp.where(parts.a > 0, -0.5 / dim * s**3 * ct_s, 0)
    # Through the two products: zA and zB.
    by_a, by_b = _alpha(parts, dim)[:, None] * ct, (s**2)[:, None] * ct
    back = forward(by_a, forms.variance[:k, :k]) + forward(by_b, forms.scaled[:k, :k])
    back = back + 2 * (a[:, None] * parts.variance + b[:, None] * parts.scaled) + linear[:, None] * parts.residual
    value = -(linear[:, None] * z + s[:, None] * ct)
    # The forms are symmetric, so a cotangent may be in either of two places.
    extended = _extended(z)
    variance = outer(extended, jnp.concatenate([a[:, None] * z + by_a, a[:, None]], axis=1))
    scaled = outer(extended, jnp.concatenate([b[:, None] * z + by_b, b[:, None], linear[:, None]], axis=1))
    last = jnp.pad(jnp.sum(s[:, None] * ct, axis=0), (0, 2))
    scaled = jnp.concatenate([scaled, last[None, :]])
    return back, Forms(value, -linear, variance, scaled, jnp.zeros_like(forms.most))


slope = jax.custom_vjp(_slope, nondiff_argnums=(2, 3))
slope.defvjp(_slope_forward, _slope_backward)
