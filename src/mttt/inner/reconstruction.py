"""The paper's task: reconstruct each token x from φ(x) (eq. 1), without ever making the reconstruction.

The loss needs only ‖o‖², o·x and ‖x‖² of the d-wide reconstruction o = γ⊙(y − ȳ)/σ + β, y = zG + b. With G and b
centred over their d features and Γ = diag γ, all three are functions of the learner's answer z (k wide):

    σ² = (zAzᵀ + 2z·c + e) / d                                s = (σ² + ε)^(−½)
    ‖o‖² = s²(zBzᵀ + 2z·p + r) + 2s(z·q + t) + ‖β‖²
    o·x = s(z·u + w) + β·x                                    u = GΓx, the "value" of the token; w = Γb·x

where A = GGᵀ, c = Gb, e = ‖b‖², B = GΓ²Gᵀ, p = GΓ²b, r = ‖Γb‖², q = GΓβ, t = Γβ·b. So k + 2 numbers a token are
computed once, however many steps follow. Without Decoder LN the same holds with s = Γ = 1, β = 0 and no centring.
"""

from typing import NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.normalised import Forms, losses
from mttt.inner.task import Compared, Problem, TokenwiseTask
from mttt.nn.check import check_finite, check_rows, check_whole
from mttt.nn.dense import Dense, at_least_float32, fan_in_uniform, fan_out_uniform
from mttt.nn.norm import LayerNorm
from mttt.nn.products import gram, quadratic
from mttt.nn.roles import Shared


class Targets(NamedTuple):
    """What the loss has to know of a token, divided by `divisor`."""

    value: Float[Array, "n k"]  # u
    offset: Float[Array, " n"]  # w
    constant: Float[Array, " n"]  # ½‖x‖² − β·x


class Quadratic(eqx.Module):
    """z ↦ zMzᵀ + 2z·v + m for every row z."""

    matrix: Float[Array, "k k"]
    vector: Float[Array, " k"]
    number: Float[Array, ""]

    def __init__(self, left: Float[Array, "k d"], right: Float[Array, " d"], divisor: float = 1.0):
        """The squared norm of z·left + right, divided by `divisor`."""
        self.matrix = left @ left.T / divisor
        self.vector = left @ right / divisor
        self.number = right @ right / divisor

    def __call__(self, z: Float[Array, "n k"]) -> Float[Array, " n"]:
        return quadratic(z, self.matrix.astype(z.dtype)) + 2 * (z @ self.vector) + self.number


def _not_negative(losses: Float[Array, " n"]) -> Float[Array, " n"]:
    """At least 0, with the gradient of `losses`: what is reported is a squared error in spite of rounding.

    The gradient is all that an inner step needs, so a step costs no more than without.
    """
    return losses + jax.lax.stop_gradient(jnp.maximum(losses, 0) - losses)


class PlainLoss(eqx.Module):
    """½‖zG + b − x‖² / divisor of each row. Small arrays are divided by `divisor`, not the answers."""

    output: Quadratic  # ‖o‖² / divisor

    def __call__(self, z: Float[Array, "n k"], targets: Targets) -> Float[Array, " n"]:
        agreement = jnp.sum(z * targets.value, axis=1) + targets.offset
        losses = 0.5 * self.output(z) - agreement + targets.constant
        return _not_negative(losses)

    def slope(self, targets: Targets) -> Float[Array, "n k"]:
        """The gradient at z = 0. Written out because XLA multiplies by zeros that it is told of."""
        return self.output.vector[None, :] - targets.value


class NormalisedLoss(eqx.Module):
    """½‖LN(zG + b) − x‖² / divisor of each row."""

    variance: Float[Array, "v v"]  # dσ²
    scaled: Float[Array, "s s"]  # ‖Γ(y − ȳ)‖² / divisor, and its products with β
    most: Float[Array, ""]  # max γ², with room for rounding: `scaled` is not larger than so many times the variance
    dim: int = eqx.field(static=True)
    eps: float = eqx.field(static=True)

    def __call__(self, z: Float[Array, "n k"], targets: Targets) -> Float[Array, " n"]:
        forms = Forms(targets.value, targets.offset, self.variance, self.scaled, self.most)
        total = losses(z, forms, self.dim, self.eps) + targets.constant
        return _not_negative(total)


class Decoder(eqx.Module):
    """g: from the learner's width back to the token's. All heads share the bias."""

    weight: Float[Array, "k d"]
    bias: Shared

    def __init__(self, width: int, dim: int, *, key: PRNGKeyArray):
        self.weight = fan_out_uniform(key, (width, dim))
        self.bias = Shared(jnp.zeros(dim))


@final
class Reconstruction(TokenwiseTask):
    """The paper's task: reconstruct each token x from a view φ(x) of it.

        ℓ(W) = mean over tokens of ½‖LN(g(f(φ(x); W))) − x‖² / divisor

    φ and g are affine maps, d → k and k → d, trained by the outer loop; LN is the Decoder LN. Each head reconstructs
    the whole token, and the bias of g is one vector for all heads. The loss is computed without the d-wide
    reconstruction, from k + 2 numbers a token: that costs O(n·d·k) once and O(n·k²) a step. `report` gives half the
    squared error, averaged over tokens and over the d features, whatever the divisor.

    Arguments:
    - dim: d, the width of a token
    - width: k, the width of the head that learns
    - decoder_norm: whether there is a Decoder LN; True by default. False for MTTT-Linear
    - divisor: k by default, as in the paper's release and so in its tables; 1 is the paper's equation 1
    - key: random key for φ and g

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> task = mttt.Reconstruction(16, 8, decoder_norm=False, key=jax.random.key(0))
        >>> x = jax.random.normal(jax.random.key(1), (10, 16))
        >>> losses = task(x).losses_of(jnp.zeros((10, 8)))  # the answer 0 reconstructs 0
        >>> bool(jnp.allclose(losses, 0.5 * jnp.sum(x**2, axis=1) / 8, rtol=1e-5))
        True

    Reference: Sun et al. (2023), *Learning to (Learn at Test Time)*, arXiv 2310.13807, equation 1.
    """

    phi: Dense
    g: Decoder
    decoder_norm: LayerNorm | None
    divisor: float = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        width: int,
        *,
        decoder_norm: bool = True,
        divisor: float | None = None,
        key: PRNGKeyArray,
    ):
        check_whole(dim=dim, width=width)
        divisor = width if divisor is None else divisor
        check_finite(above=0.0, divisor=divisor)
        phi_key, g_key = jax.random.split(key)
        self.phi = Dense(dim, width, key=phi_key, kernel_init=fan_in_uniform)
        self.g = Decoder(width, dim, key=g_key)
        self.decoder_norm = LayerNorm(dim) if decoder_norm else None
        self.divisor = float(divisor)

    def __call__(self, tokens: Float[Array, "n d"]) -> Problem:
        check_rows(tokens, self.g.weight.shape[1])
        x = at_least_float32(tokens)
        g, b, divisor = self.g.weight.astype(x.dtype), self.g.bias.value.astype(x.dtype), self.divisor
        labels = at_least_float32(self._values(tokens, g)) - (g @ b)[None, :]
        constant = 0.5 / divisor * jnp.sum(x**2, axis=1)
        norm, slope = self.decoder_norm, None
        if norm is None:
            scaled = jnp.concatenate([g, b[None, :]])
            loss = PlainLoss(Quadratic(g, b, divisor))
            slope = loss.slope
        else:
            gamma, beta = norm.scale.astype(x.dtype), norm.shift.astype(x.dtype)
            rows = jnp.concatenate([g, b[None, :]])
            rows = rows - jnp.mean(rows, axis=1, keepdims=True)
            scaled = rows * gamma[None, :]
            loss = NormalisedLoss(
                variance=gram(rows),
                scaled=gram(jnp.concatenate([scaled, beta[None, :]])) / divisor,
                most=jax.lax.stop_gradient(2 / divisor * jnp.max(gamma**2)),
                dim=tokens.shape[1],
                eps=norm.eps,
            )
            constant = constant - x @ (beta / divisor)
        targets = Targets(
            value=at_least_float32(self._values(tokens, scaled[:-1] / divisor)),
            offset=x @ (scaled[-1] / divisor),
            constant=constant,
        )
        return Problem(at_least_float32(self.phi(tokens)), targets, loss, labels, slope)

    def compare(self, tokens: Float[Array, "n d"], answers: Float[Array, "n k"]) -> Compared:
        """The tokens, and LN(g(answer)), which the inner loop itself never makes."""
        x = at_least_float32(tokens)
        made = answers @ self.g.weight.astype(answers.dtype) + self.g.bias.value.astype(answers.dtype)[None, :]
        return Compared("token", x, made if self.decoder_norm is None else self.decoder_norm(made))

    @staticmethod
    def _values(tokens: Float[Array, "n d"], g: Float[Array, "k d"]) -> Float[Array, "n k"]:
        return tokens @ g.astype(tokens.dtype).T

    def report(self, losses: Float[Array, "*t"]) -> Float[Array, "*t"]:
        """Half the squared error, averaged over tokens and over the d features."""
        return losses * (self.divisor / self.g.weight.shape[1])
