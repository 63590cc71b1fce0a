"""The three products of a dense layer, as a set that is closed under differentiation.

Training a dense layer takes xA forward, yAᵀ back to its input, and xᵀy for the gradient of A; training it *through* an
inner step takes the derivatives of these, which are the same three again. Automatic differentiation finds them too, but
with operands in orders that make compilers transpose large arrays. Written out, with the narrow side of A as its first
axis, a TTT layer takes about a sixth less time (docs/performance.md).

The price is forward-mode differentiation (`jax.jvp`, `jax.jacfwd`, `jax.hessian`), which JAX refuses for functions with
a reverse rule of their own ("can't apply forward-mode autodiff (jvp) to a custom_vjp function"). Reverse mode works to
any order: a Hessian times v is `jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))`.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@jax.custom_vjp
def forward(x: Float[Array, "n i"], a: Float[Array, "i o"]) -> Float[Array, "n o"]:
    """xA."""
    return jnp.einsum("ni,io->no", x, a)


@jax.custom_vjp
def backward(y: Float[Array, "n o"], a: Float[Array, "i o"]) -> Float[Array, "n i"]:
    """yAᵀ."""
    return jnp.einsum("no,io->ni", y, a)


@jax.custom_vjp
def outer(x: Float[Array, "n i"], y: Float[Array, "n o"]) -> Float[Array, "i o"]:
    """xᵀy."""
    # x is about to be transposed. Without the barrier, XLA computes it a second time in transposed order, from whatever
    # it was made of, reading all of that with strides.
    return jnp.einsum("ni,no->io", jax.lax.optimization_barrier(x), y)


def _like(cotangents: tuple[Array, Array], operands: tuple[Array, Array]) -> tuple[Array, Array]:
    """Each cotangent in the dtype of its operand, as JAX wants it."""
    (a, b), (x, y) = cotangents, operands
    return a.astype(x.dtype), b.astype(y.dtype)


forward.defvjp(
    lambda x, a: (forward(x, a), (x, a)),
    lambda operands, ct: _like((backward(ct, operands[1]), outer(operands[0], ct)), operands),
)
backward.defvjp(
    lambda y, a: (backward(y, a), (y, a)),
    lambda operands, ct: _like((forward(ct, operands[1]), outer(ct, operands[0])), operands),
)
outer.defvjp(
    lambda x, y: (outer(x, y), (x, y)),
    lambda operands, ct: _like((backward(operands[1], ct), forward(operands[0], ct)), operands),
)


@jax.custom_vjp
def quadratic(x: Float[Array, "n i"], a: Float[Array, "i i"]) -> Float[Array, " n"]:
    """xAxᵀ of each row, for a symmetric A: the derivative 2xA is made of the product that the value was made of.

    Automatic differentiation does not know that A is symmetric, and multiplies twice.
    """
    return jnp.sum(x * forward(x, a), axis=1)


def _quadratic_forward(
    x: Float[Array, "n i"], a: Float[Array, "i i"]
) -> tuple[Float[Array, " n"], tuple[Float[Array, "n i"], Float[Array, "n i"]]]:
    product = forward(x, a)
    return jnp.sum(x * product, axis=1), (x, product)


def _quadratic_backward(
    kept: tuple[Float[Array, "n i"], Float[Array, "n i"]], ct: Float[Array, " n"]
) -> tuple[Float[Array, "n i"], Float[Array, "i i"]]:
    x, product = kept
    return 2 * ct[:, None] * product, outer(x, ct[:, None] * x)


quadratic.defvjp(_quadratic_forward, _quadratic_backward)


@jax.custom_vjp
def gram(a: Float[Array, "i o"]) -> Float[Array, "i i"]:
    """AAᵀ. It is symmetric, so its derivative is one product."""
    return jnp.einsum("io,jo->ij", a, a)


gram.defvjp(lambda a: (gram(a), a), lambda a, ct: (forward(ct + ct.T, a),))
