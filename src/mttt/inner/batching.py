"""Which tokens each inner step learns from."""

import abc
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


class Split(NamedTuple):
    """Which tokens the steps see.

    Without an order, each of the steps sees all tokens. With an order, the tokens are brought into it and cut: `phases`
    lists (steps, m) for consecutive steps that see the next m tokens each.
    """

    order: Int[Array, " n"] | None
    phases: tuple[tuple[int, int], ...]


def _inverse(order: Int[Array, " n"]) -> Int[Array, " n"]:
    places = jnp.arange(order.shape[0], dtype=order.dtype)
    return jnp.zeros_like(order).at[order].set(places, unique_indices=True)


@jax.custom_vjp
def permute(rows: Float[Array, "n *m"], order: Int[Array, " n"]) -> Float[Array, "n *m"]:
    """Bring rows into an order that names each of them once.

    Its rule says so to JAX, which would otherwise add up the cotangents of rows that could come twice: a slow scatter.
    """
    return rows[order]


permute.defvjp(
    lambda rows, order: (permute(rows, order), order),
    lambda order, cotangent: (permute(cotangent, _inverse(order)), None),
)


class Batching(eqx.Module):
    """T steps over n tokens."""

    steps: eqx.AbstractVar[int]

    def __check_init__(self):
        if self.steps < 0:
            raise ValueError(f"steps={self.steps}: the inner loop takes 0 steps (no learning at test time) or more")

    @abc.abstractmethod
    def split(self, n: int, key: PRNGKeyArray | None) -> Split:
        """What the T steps see of n tokens."""

    @abc.abstractmethod
    def with_steps(self, steps: int) -> "Batching":
        """The same way of batching with another T."""


class FullBatch(Batching):
    """Every step learns from all tokens."""

    steps: int = eqx.field(default=1, static=True)

    def split(self, n: int, key: PRNGKeyArray | None) -> Split:
        return Split(None, ((self.steps, n),) if self.steps else ())

    def with_steps(self, steps: int) -> "FullBatch":
        return FullBatch(steps)


class MiniBatches(Batching):
    """A random split of the tokens into T mini-batches, one step each: every token is used exactly once.

    Where T does not divide n, the first n mod T mini-batches have one token more. With a key the split is random;
    without one, as in evaluation, it is a random split that is always the same.
    """

    steps: int = eqx.field(default=4, static=True)
    seed: int = eqx.field(default=0, static=True)

    def split(self, n: int, key: PRNGKeyArray | None) -> Split:
        if not self.steps:
            return Split(None, ())
        if self.steps > n:
            raise ValueError(f"steps={self.steps} mini-batches of n={n} tokens: some would be empty; take at most {n}")
        if self.steps == 1:
            return Split(None, ((1, n),))  # one mini-batch is the full batch: nothing to permute
        # One sort of random numbers: half the time of jax.random.permutation, which sorts twice in case two are equal.
        order = jnp.argsort(jax.random.bits(jax.random.key(self.seed) if key is None else key, (n,), "uint32"))
        size, larger = divmod(n, self.steps)
        phases = ((larger, size + 1), (self.steps - larger, size))
        return Split(order, phases if larger else phases[1:])

    def with_steps(self, steps: int) -> "MiniBatches":
        return MiniBatches(steps, self.seed)
