"""Which tokens each inner step learns from."""

import abc
from typing import NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Int, PRNGKeyArray


class Phase(NamedTuple):
    """Consecutive steps on mini-batches of one size; `rows` is None where every step sees all tokens."""

    steps: int
    rows: Int[Array, "steps m"] | None


class Batching(eqx.Module):
    """T steps over n tokens."""

    steps: eqx.AbstractVar[int]

    def __check_init__(self):
        if self.steps < 0:
            raise ValueError(f"steps={self.steps}: the inner loop takes 0 steps (no learning at test time) or more")

    @abc.abstractmethod
    def phases(self, n: int, key: PRNGKeyArray | None) -> list[Phase]:
        """The steps in order. They number T in all."""

    @abc.abstractmethod
    def with_steps(self, steps: int) -> "Batching":
        """The same way of batching with another T."""


class FullBatch(Batching):
    """Every step learns from all tokens."""

    steps: int = eqx.field(default=1, static=True)

    def phases(self, n: int, key: PRNGKeyArray | None) -> list[Phase]:
        return [Phase(self.steps, None)] if self.steps else []

    def with_steps(self, steps: int) -> "FullBatch":
        return FullBatch(steps)


class MiniBatches(Batching):
    """A random split of the tokens into T mini-batches, one step each: every token is used exactly once.

    Where T does not divide n, the first n mod T mini-batches have one token more. With a key the split is random;
    without one, as in evaluation, it is a random split that is always the same.
    """

    steps: int = eqx.field(default=4, static=True)
    seed: int = eqx.field(default=0, static=True)

    def phases(self, n: int, key: PRNGKeyArray | None) -> list[Phase]:
        if not self.steps:
            return []
        if self.steps > n:
            raise ValueError(f"steps={self.steps} mini-batches of n={n} tokens: some would be empty; take at most {n}")
        if self.steps == 1:
            return [Phase(1, None)]  # one mini-batch is the full batch: nothing to permute
        order = jax.random.permutation(jax.random.key(self.seed) if key is None else key, n)
        size, larger = divmod(n, self.steps)
        cut = larger * (size + 1)
        phases = [Phase(larger, order[:cut].reshape(larger, size + 1))] if larger else []
        return [*phases, Phase(self.steps - larger, order[cut:].reshape(self.steps - larger, size))]

    def with_steps(self, steps: int) -> "MiniBatches":
        return MiniBatches(steps, self.seed)
