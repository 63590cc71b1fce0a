"""Which tokens each inner step learns from.

A batching is the plan: T steps, all tokens or a part of them each. Drawn for one input it is a `Split`, which hands out
the rows.
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from mttt.inner.permute import permute
from mttt.nn.check import check_whole


class Rows(NamedTuple):
    """What a step learns from: some rows, which of them are real, and how many real ones there are."""

    content: PyTree[Array]
    mask: Bool[Array, " m"] | None  # None: all of them
    real: int | Int[Array, ""]


class Phase(NamedTuple):
    """Steps that see equally many rows: `rows(x)` for each x of `each`, which is None where all see the same."""

    steps: int
    each: PyTree[Array] | None
    rows: Callable[[Any], Rows]

    def first(self) -> Rows:
        """What the first step sees."""
        return self.rows(jax.tree.map(lambda a: a[0], self.each))

    def rest(self) -> list["Phase"]:
        """The steps after the first."""
        later = Phase(self.steps - 1, jax.tree.map(lambda a: a[1:], self.each), self.rows)
        return [later] if later.steps else []


class Batching(eqx.Module):
    """Which tokens each of the T inner steps learns from, for loops over all tokens of an input.

    To implement: the static field `steps`, which is T; `looks`; and `draw(n, mask=, key=)`. A batching of your own may
    draw from one that is there.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class EverySecond(mttt.Batching):  # learn from every second token only
        ...     steps: int = eqx.field(default=1, static=True)
        ...     @property
        ...     def looks(self):
        ...         return self.steps
        ...     def draw(self, n, *, mask=None, key=None):
        ...         these = jnp.arange(n) % 2 == 0
        ...         return mttt.FullBatch(self.steps).draw(n, mask=these if mask is None else these & mask)
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, batching=EverySecond(), key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    steps: eqx.AbstractVar[int]

    def __check_init__(self):
        check_whole(least=0, most=1_000_000, steps=self.steps)  # 0: no learning at test time

    @property
    @abc.abstractmethod
    def looks(self) -> int:
        """How often the steps look at one token, at most."""

    @abc.abstractmethod
    def draw(self, n: int, *, mask: Bool[Array, " n"] | None = None, key: PRNGKeyArray | None = None) -> "Split":
        """The split of n tokens. What is random in it comes from the key, or is always the same without one."""


class Split(Batching):
    """A batching for one input."""

    def draw(self, n: int, *, mask: Bool[Array, " n"] | None = None, key: PRNGKeyArray | None = None) -> "Split":
        return self

    @abc.abstractmethod
    def phases(self, content: PyTree[Array]) -> list[Phase]:
        """The rows of every step; each array of `content` has one row a token."""


@final
class FullBatch(Batching):
    """Every step learns from all tokens: T steps take T forward and backward passes over n tokens.

    Arguments:
    - steps: T, 1 by default. 0 is no learning at test time: W_T = W₀

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, batching=mttt.FullBatch(4), key=jax.random.key(0))
        >>> mixed = eqx.filter_jit(layer)(jax.random.normal(jax.random.key(1), (10, 16)), trace=True)
        >>> mixed.losses.shape, bool(jnp.all(mixed.losses[:, -1] < mixed.losses[:, 0]))
        ((2, 5), True)
    """

    steps: int = eqx.field(default=1, static=True)

    @property
    def looks(self) -> int:
        return self.steps

    def draw(self, n: int, *, mask: Bool[Array, " n"] | None = None, key: PRNGKeyArray | None = None) -> Split:
        return EveryToken(self.steps, mask)


@final
class EveryToken(Split):
    """All rows in every step."""

    steps: int = eqx.field(static=True)
    mask: Bool[Array, " n"] | None

    @property
    def looks(self) -> int:
        return self.steps

    def phases(self, content: PyTree[Array]) -> list[Phase]:
        rows = every_row(content, self.mask)
        return [Phase(self.steps, None, lambda _: rows)] if self.steps else []


def every_row(content: PyTree[Array], mask: Bool[Array, " n"] | None) -> Rows:
    """All tokens of an input."""
    return Rows(content, mask, jax.tree.leaves(content)[0].shape[0] if mask is None else jnp.sum(mask))


@final
class MiniBatches(Batching):
    """SGD: a random split of the tokens into T mini-batches, one step each, so that every token is used exactly once.

    T steps look at every token once, as one step of `FullBatch` does. Where T does not divide n, the first n mod T
    mini-batches have one token more. With a key the split is random; without one, as in evaluation, it is a random
    split that is always the same. With a mask, the real tokens are split as they would be without the others. A
    mini-batch without any (fewer real tokens than T) has a gradient of 0.

    Arguments:
    - steps: T, at most n; 4 by default. 0 is no learning at test time
    - seed: of the split that is used without a key; 0 by default

    Example:

        >>> import equinox as eqx, jax, mttt
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, batching=mttt.MiniBatches(4), key=jax.random.key(0))
        >>> x = jax.random.normal(jax.random.key(1), (10, 16))
        >>> eqx.filter_jit(layer)(x, key=jax.random.key(2), trace=True).losses.shape
        (2, 5)
    """

    steps: int = eqx.field(default=4, static=True)
    seed: int = eqx.field(default=0, static=True)

    def __check_init__(self):
        check_whole(least=0, most=2**32 - 1, seed=self.seed)

    @property
    def looks(self) -> int:
        return min(self.steps, 1)

    def draw(self, n: int, *, mask: Bool[Array, " n"] | None = None, key: PRNGKeyArray | None = None) -> Split:
        if self.steps > n:
            raise ValueError(f"steps={self.steps} mini-batches of n={n} tokens: some would be empty; take at most {n}")
        if self.steps <= 1:
            return EveryToken(self.steps, mask)  # one mini-batch is the full batch: nothing to permute
        # One sort of random numbers: half the time of jax.random.permutation, which sorts twice in case two are equal.
        bits = jax.random.bits(jax.random.key(self.seed) if key is None else key, (n,), "uint32")
        if mask is None:
            return Shuffled(self.steps, jnp.argsort(bits))
        # The r-th real token gets the r-th number, as in the short input; the others come last.
        real = jnp.where(mask, bits[jnp.cumsum(mask) - 1], 0)
        return ShuffledReal(self.steps, jnp.lexsort((real, ~mask)), jnp.sum(mask))


@final
class Shuffled(Split):
    """The next rows of an order in every step."""

    steps: int = eqx.field(static=True)
    order: Int[Array, " n"]

    @property
    def looks(self) -> int:
        return 1

    def phases(self, content: PyTree[Array]) -> list[Phase]:
        size, larger = divmod(self.order.shape[0], self.steps)
        ordered = jax.tree.map(lambda a: permute(a, self.order), content)
        found, begin = [], 0
        for steps, m in ((larger, size + 1), (self.steps - larger, size)):
            end = begin + steps * m
            each = jax.tree.map(lambda a: a[begin:end].reshape(steps, m, *a.shape[1:]), ordered)  # noqa: B023
            if steps:
                found.append(Phase(steps, each, lambda content, m=m: Rows(content, None, m)))
            begin = end
        return found


@final
class ShuffledReal(Split):
    """The next real rows of an order in every step. How many are real is known only when the program runs.

    So every step has room for as many rows as it would need if all were real.
    """

    steps: int = eqx.field(static=True)
    order: Int[Array, " n"]  # real rows first
    real: Int[Array, ""]

    @property
    def looks(self) -> int:
        return 1

    def phases(self, content: PyTree[Array]) -> list[Phase]:
        n = self.order.shape[0]
        size, larger = jnp.divmod(self.real, self.steps)
        step = jnp.arange(self.steps)
        begins = step * size + jnp.minimum(step, larger)
        counts = jnp.where(step < larger, size + 1, size)
        places = begins[:, None] + jnp.arange(-(-n // self.steps))[None, :]
        masks = places < (begins + counts)[:, None]
        rows = self.order[jnp.minimum(places, n - 1)]
        each = jax.tree.map(lambda a: a[rows], content), masks, counts
        return [Phase(self.steps, each, lambda x: Rows(*x))]
