"""How much of each token is learned, and how much is forgotten before it: rates that depend on the token.

In a chunk, the weights of token t are those before the chunk minus ρ_t Σ_{s ≤ t} η_s g_s, where g_s is the gradient of
token s. η_s, from the token, is what token s weighs; ρ_t, from the place in the chunk, is what the sum so far weighs.
An optimizer that is not plain gradient descent gets the sum as its gradient.
"""

import abc
from typing import NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mttt.nn.axis import mean_of
from mttt.nn.check import check_finite, check_whole
from mttt.nn.dense import Dense, at_least_float32


class Given(NamedTuple):
    """Of every token: η, and log α ≤ 0 if something is forgotten."""

    eta: Float[Array, " n"]
    log_decay: Float[Array, " n"] | None = None


class Rates(eqx.Module):
    """Rates of tokens. Its arrays are trained by the outer loop."""

    @abc.abstractmethod
    def of(self, tokens: Float[Array, "n d"]) -> Given:
        """η and α of every token."""

    @abc.abstractmethod
    def places(self, size: int) -> Float[Array, " b"]:
        """ρ of the places in a chunk of so many tokens."""

    def whole(self, total: Float[Array, "*shape"], count: int | Int[Array, ""]) -> Float[Array, "*shape"]:
        """ρ times a sum over tokens, where `count` of them are learned at once and have no order."""
        raise ValueError(
            f"{type(self).__name__} go by the order of tokens, and TTT learns from all of them at once; take "
            "GatedRates or MeanRates, or CausalTTT"
        )


def _running_mean(size: int) -> Float[Array, " b"]:
    return 1 / jnp.arange(1, size + 1, dtype=float)


class Gate(eqx.Module):
    """scale · σ(w·x + b), one number a token."""

    dense: Dense
    scale: float = eqx.field(static=True)

    def __init__(self, dim: int, *, scale: float, key: PRNGKeyArray):
        check_finite(scale=scale)
        # Small weights: in the beginning all tokens weigh nearly the same.
        self.dense = Dense(dim, 1, key=key, kernel_init=jax.nn.initializers.normal(0.02))
        self.scale = scale

    def __call__(self, tokens: Float[Array, "n d"]) -> Float[Array, " n"]:
        return self.scale * jax.nn.sigmoid(at_least_float32(self.dense(tokens))[:, 0])


@final
class MeanRates(Rates):
    """Every token weighs the same, and the gradient is the mean over the chunk so far: ρ_t = 1/t."""

    def __init__(self, dim: int, width: int, *, key: PRNGKeyArray | None = None):
        del dim, width, key  # the signature of all rates; there is nothing to draw

    def of(self, tokens: Float[Array, "n d"]) -> Given:
        return Given(jnp.ones(tokens.shape[0], at_least_float32(tokens).dtype))

    def places(self, size: int) -> Float[Array, " b"]:
        return _running_mean(size)

    def whole(self, total: Float[Array, "*shape"], count: int | Int[Array, ""]) -> Float[Array, "*shape"]:
        return mean_of(total, count)


@final
class GatedRates(Rates):
    """η_s = scale · σ(w·x_s + b), and the gradient is the sum over the chunk so far: ρ_t = 1.

    With `scale` = 1 and chunks of one token this is β of the delta rule.
    """

    gate: Gate

    def __init__(self, dim: int, width: int, *, scale: float = 1.0, key: PRNGKeyArray):
        del width
        self.gate = Gate(dim, scale=scale, key=key)

    def of(self, tokens: Float[Array, "n d"]) -> Given:
        return Given(self.gate(tokens))

    def places(self, size: int) -> Float[Array, " b"]:
        return jnp.ones(size)

    def whole(self, total: Float[Array, "*shape"], count: int | Int[Array, ""]) -> Float[Array, "*shape"]:
        return total


@final
class DecayingRates(Rates):
    """`GatedRates`, and α_s = exp(−e^a · softplus(w·x_s + b)): before token s is learned, W is multiplied by α_s.

    That is how the gated delta rule forgets (Yang et al., 2024), after Mamba-2. a starts at 0 and b so that α starts
    between 0.9 and 0.999, a different one in each head.
    """

    gate: Gate
    forget: Dense
    speed: Float[Array, ""]

    def __init__(self, dim: int, width: int, *, scale: float = 1.0, key: PRNGKeyArray):
        del width
        gate_key, forget_key, draw_key = jax.random.split(key, 3)
        self.gate = Gate(dim, scale=scale, key=gate_key)
        forget = Dense(dim, 1, key=forget_key, kernel_init=jax.nn.initializers.normal(0.02))
        amount = jnp.exp(jax.random.uniform(draw_key, (1,), minval=jnp.log(0.001), maxval=jnp.log(0.1)))
        self.forget = eqx.tree_at(lambda dense: dense.bias, forget, amount + jnp.log(-jnp.expm1(-amount)))
        self.speed = jnp.zeros(())

    def of(self, tokens: Float[Array, "n d"]) -> Given:
        amount = jax.nn.softplus(at_least_float32(self.forget(tokens))[:, 0])
        return Given(self.gate(tokens), -jnp.exp(self.speed).astype(amount.dtype) * amount)

    def places(self, size: int) -> Float[Array, " b"]:
        return jnp.ones(size)


@final
class PlacedRates(Rates):
    """η_s = scale · σ(w·x_s + b) and ρ_t = max(0, 1/t + c_t), with a learned c_t for each of `size` places.

    These are the rates of TTT-Linear and TTT-MLP (Sun et al., 2024), with `scale` = η₀ / k.
    """

    gate: Gate
    place: Float[Array, " b"]

    def __init__(self, dim: int, width: int, *, size: int, base: float = 1.0, key: PRNGKeyArray):
        """`base` is η₀; it is divided by the width k of a head."""
        check_whole(size=size, width=width)
        check_finite(base=base)
        self.gate = Gate(dim, scale=base / width, key=key)
        self.place = jnp.zeros(size)

    def of(self, tokens: Float[Array, "n d"]) -> Given:
        return Given(self.gate(tokens))

    def places(self, size: int) -> Float[Array, " b"]:
        if size > self.place.shape[0]:
            raise ValueError(
                f"size={self.place.shape[0]} places have rates, and the chunks have {size} tokens; give both the same"
            )
        return jnp.maximum(_running_mean(size).astype(self.place.dtype) + self.place[:size], 0)
