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


class TokenRates(NamedTuple):
    """What rates say of every token of an input.

    Fields:
    - eta: η, (n,): how much the token is learned
    - log_decay: log α ≤ 0, (n,): how much is forgotten before it. None: nothing

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> mttt.TokenRates(eta=jnp.array([1.0, 0.0])).log_decay is None  # the second token is not learned
        True
    """

    eta: Float[Array, " n"]
    log_decay: Float[Array, " n"] | None = None


class Rates(eqx.Module):
    """How much each token is learned, and how much is forgotten before it.

    In a chunk that begins with W, the weights of token t are

        W_t = (α_1 ⋯ α_t) W − ρ_t Σ_{s ≤ t} (α_{s+1} ⋯ α_t) η_s g_s

    where g_s is the gradient of token s at (α_1 ⋯ α_s) W. η and α ≤ 1 come from the tokens, ρ from the places in the
    chunk. Another optimizer than `GradientDescent` gets the sum as its gradient. The arrays of rates are trained by the
    outer loop. A layer makes the rates of each head as `rates(dim, width, key=key)`.

    To implement: `of(tokens)`, `places(size)`, and for `TTT`, where tokens have no order, `whole(total, count)`.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Loud(mttt.Rates):  # the larger a token, the more of it is learned
        ...     def __init__(self, dim, width, *, key):
        ...         pass
        ...     def of(self, tokens):
        ...         return mttt.TokenRates(jnp.mean(tokens**2, axis=1))
        ...     def places(self, size):
        ...         return jnp.ones(size)
        >>> layer = mttt.CausalTTT(16, 2, learner=mttt.AffineLearner, rates=Loud, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    @abc.abstractmethod
    def of(self, tokens: Float[Array, "n d"]) -> TokenRates:
        """η (n,) and, if something is forgotten, log α ≤ 0 (n,) of tokens (n, d)."""

    @abc.abstractmethod
    def places(self, size: int) -> Float[Array, " b"]:
        """ρ of the places in a chunk of so many tokens, (size,)."""

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
    """Every token weighs the same, and the gradient is the mean over the chunk so far: η_s = 1, ρ_t = 1/t.

    In `TTT` it is the mean over all tokens of the step, as without rates.

    Arguments:
    - dim: not used; rates are made as `rates(dim, width, key=key)`
    - width: not used
    - key: not used, as there is nothing to draw

    Example:

        >>> import mttt
        >>> mttt.MeanRates(16, 8).places(2).tolist()
        [1.0, 0.5]
    """

    def __init__(self, dim: int, width: int, *, key: PRNGKeyArray | None = None):
        del dim, width, key  # the signature of all rates; there is nothing to draw

    def of(self, tokens: Float[Array, "n d"]) -> TokenRates:
        return TokenRates(jnp.ones(tokens.shape[0], at_least_float32(tokens).dtype))

    def places(self, size: int) -> Float[Array, " b"]:
        return _running_mean(size)

    def whole(self, total: Float[Array, "*shape"], count: int | Int[Array, ""]) -> Float[Array, "*shape"]:
        return mean_of(total, count)


@final
class GatedRates(Rates):
    """A learned gate says how much each token weighs: η_s = scale · σ(w·x_s + b), and ρ_t = 1.

    The gradient is the sum over the chunk so far, not the mean. With `scale` = 1 and chunks of one token η is β of the
    delta rule. In `TTT`, which learns from n tokens at once, `scale` = 2/n makes the first steps those of the mean.

    Arguments:
    - dim: d, the width of a token
    - width: not used; rates are made as `rates(dim, width, key=key)`
    - scale: the most that a token can weigh; 1.0 by default
    - key: random key for w (d,), which is small at first: all tokens weigh nearly the same. b starts at 0

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> rates = mttt.GatedRates(16, 8, key=jax.random.key(0))
        >>> rates.of(jnp.zeros((3, 16))).eta.tolist()
        [0.5, 0.5, 0.5]

    Reference: Yang et al. (2024), *Parallelizing Linear Transformers with the Delta Rule*, arXiv 2406.06484.
    """

    gate: Gate

    def __init__(self, dim: int, width: int, *, scale: float = 1.0, key: PRNGKeyArray):
        del width
        self.gate = Gate(dim, scale=scale, key=key)

    def of(self, tokens: Float[Array, "n d"]) -> TokenRates:
        return TokenRates(self.gate(tokens))

    def places(self, size: int) -> Float[Array, " b"]:
        return jnp.ones(size)

    def whole(self, total: Float[Array, "*shape"], count: int | Int[Array, ""]) -> Float[Array, "*shape"]:
        return total


@final
class DecayingRates(Rates):
    """`GatedRates`, and forgetting: before token s is learned, W is multiplied by α_s.

        α_s = exp(−e^a · softplus(w·x_s + b))

    That is how the gated delta rule forgets, after Mamba-2. a starts at 0, and b so that α starts between 0.9 and
    0.999, another one in each head. For `CausalTTT` only: in `TTT` tokens have no order.

    Arguments:
    - dim: d, the width of a token
    - width: not used; rates are made as `rates(dim, width, key=key)`
    - scale: the most that a token can weigh; 1.0 by default
    - key: random key for the gates and b

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> rates = mttt.DecayingRates(16, 8, key=jax.random.key(0))
        >>> alpha = jnp.exp(rates.of(jnp.zeros((3, 16))).log_decay)
        >>> alpha.shape, bool(jnp.all((alpha > 0.89) & (alpha < 1)))
        ((3,), True)

    Reference: Yang et al. (2024), *Gated Delta Networks*, arXiv 2412.06464.
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

    def of(self, tokens: Float[Array, "n d"]) -> TokenRates:
        amount = jax.nn.softplus(at_least_float32(self.forget(tokens))[:, 0])
        return TokenRates(self.gate(tokens), -jnp.exp(self.speed).astype(amount.dtype) * amount)

    def places(self, size: int) -> Float[Array, " b"]:
        return jnp.ones(size)


@final
class PlacedRates(Rates):
    """The rates of TTT-Linear and TTT-MLP: a gate for each token, and a learned weight for each place in the chunk.

        η_s = base / k · σ(w·x_s + b)        ρ_t = max(0, 1/t + c_t)

    For `CausalTTT` only: in `TTT` tokens have no order.

    Arguments:
    - dim: d, the width of a token
    - width: k, the width of the head that learns
    - size: how many places have a c, each 0 at first; the chunks must not have more tokens
    - base: η₀; 1.0 by default
    - key: random key for w (d,). b starts at 0

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> rates = mttt.PlacedRates(16, 8, size=4, key=jax.random.key(0))
        >>> rates.of(jnp.zeros((2, 16))).eta.tolist(), rates.places(2).tolist()
        ([0.0625, 0.0625], [1.0, 0.5])

    Reference: Sun et al. (2024), arXiv 2407.04620.
    """

    gate: Gate
    place: Float[Array, " b"]

    def __init__(self, dim: int, width: int, *, size: int, base: float = 1.0, key: PRNGKeyArray):
        check_whole(size=size, width=width)
        check_finite(base=base)
        self.gate = Gate(dim, scale=base / width, key=key)
        self.place = jnp.zeros(size)

    def of(self, tokens: Float[Array, "n d"]) -> TokenRates:
        return TokenRates(self.gate(tokens))

    def places(self, size: int) -> Float[Array, " b"]:
        if size > self.place.shape[0]:
            raise ValueError(
                f"size={self.place.shape[0]} places have rates, and the chunks have {size} tokens; give both the same"
            )
        return jnp.maximum(_running_mean(size).astype(self.place.dtype) + self.place[:size], 0)
