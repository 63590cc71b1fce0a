"""The TTT layer: an inner loop in the place of attention."""

from functools import partial
from typing import Any, Protocol, final, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.inner import (
    Adjoint,
    Batching,
    FullBatch,
    GradientDescent,
    Optimizer,
    Rates,
    Recompute,
    Reconstruction,
    Start,
    Task,
    Trained,
    Trajectory,
    inner_loop,
    trajectory,
)
from mttt.inner.learner import TokenwiseLearner, answers_of
from mttt.inner.task import TokenwiseTask
from mttt.mixers.base import Mixed, Mixer
from mttt.mixers.heads import Merge, head_width, over_heads, spread, stack_heads
from mttt.mixers.trial import check_learner, check_made, check_maker, check_optimizer
from mttt.nn import Dense
from mttt.nn.axis import SEQUENCE, sequence_parts
from mttt.nn.check import check_instance, check_key
from mttt.nn.dense import at_least_float32, fan_in_uniform, fan_out_uniform


@runtime_checkable
class MakeLearner(Protocol):
    """Draws a learner of a given width; learner classes are their own makers."""

    def __call__(self, width: int, *, key: PRNGKeyArray) -> Any: ...


@runtime_checkable
class MakeTask(Protocol):
    """Draws a task for tokens of width `dim` and a learner of width `width`."""

    def __call__(self, dim: int, width: int, *, key: PRNGKeyArray) -> Task: ...


@runtime_checkable
class MakeStart(Protocol):
    """Makes a drawn learner the beginning of learning; starts are their own makers."""

    def __call__(self, learner: Any, /) -> Start: ...


@runtime_checkable
class MakeRates(Protocol):
    """Draws rates for tokens of width `dim` and a learner of width `width`; rates are their own makers."""

    def __call__(self, dim: int, width: int, *, key: PRNGKeyArray) -> Rates: ...


@final
class TTT(Mixer):
    """The TTT layer: an inner loop in the place of attention, one for each head. Drop-in, (n, d) → (n, d).

        X ↦ h(f(ψ(X); W_T)), where W_T is what T inner steps on X made of W₀

    MTTT-MLP is `TTT(dim, heads, learner=MLPLearner, key=key)`; MTTT-Linear has `learner=LinearLearner, start=Zeros,
    task=partial(Reconstruction, decoder_norm=False)`. With a `TokenwiseLearner` time and memory grow with n. Parts are
    made for each head by classes or functions; use `functools.partial` for options. A mask needs a `TokenwiseLearner`
    and a `TokenwiseTask`: padding is then no part of the data.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a learner is k = d/H wide
    - learner: makes f, as `learner(k, key=key)`: a learner class, or any function that returns a module (n, k) → (n, k)
    - start: makes W₀ of the learner; `Trained` by the outer loop by default
    - task: makes the task, as `task(d, k, key=key)`; `Reconstruction` by default
    - optimizer: one update rule, of which each head gets a copy; `GradientDescent()`, with η = 1, by default
    - rates: makes rates of tokens, as `rates(d, k, key=key)`, such as `GatedRates`. None: a step descends on the mean
    - batching: T and the tokens of each step; `FullBatch(1)` by default
    - adjoint: trades memory for time, and changes no number; `Recompute()` by default
    - key: random key for all parameters

    Example:

        >>> import equinox as eqx, jax, mttt
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, batching=mttt.FullBatch(4), key=jax.random.key(0))
        >>> x = jax.random.normal(jax.random.key(1), (10, 16))
        >>> mixed = eqx.filter_jit(layer)(x, trace=True)
        >>> mixed.tokens.shape, mixed.losses.shape
        ((10, 16), (2, 5))

    Reference: Sun et al. (2023), *Learning to (Learn at Test Time)*, arXiv 2310.13807.
    """

    psi: Dense
    task: Task
    start: Start
    optimizer: Optimizer
    rates: Rates | None
    batching: Batching
    merge: Merge
    adjoint: Adjoint

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        learner: MakeLearner,
        start: MakeStart = Trained,
        task: MakeTask = Reconstruction,
        optimizer: Optimizer = GradientDescent(),  # noqa: B008
        rates: MakeRates | None = None,
        batching: Batching = FullBatch(1),  # noqa: B008
        adjoint: Adjoint = Recompute(),  # noqa: B008
        key: PRNGKeyArray,
    ):
        check_maker("learner", learner, "width, *, key")
        check_maker("task", task, "dim, width, *, key")
        check_maker("start", start, "learner")
        check_optimizer(optimizer)
        check_instance("batching", batching, Batching, "FullBatch(4)")
        check_instance("adjoint", adjoint, Adjoint, "Recompute(block=256)")
        width = head_width(dim, heads)
        check_key(key)
        psi_key, task_key, learner_key, merge_key = jax.random.split(key, 4)
        make_psi = partial(Dense, dim, width, kernel_init=fan_in_uniform)
        self.psi = stack_heads(lambda key: make_psi(key=key), heads, key=psi_key)
        self.task = stack_heads(lambda key: check_made("task", task(dim, width, key=key), Task), heads, key=task_key)
        self.start = stack_heads(
            lambda key: check_made("start", start(check_learner(learner(width, key=key), width)), Start),
            heads,
            key=learner_key,
        )
        self.optimizer = spread(optimizer, (heads,))
        self.rates = None if rates is None else _drawn(rates, dim, heads, key=jax.random.fold_in(key, 0))
        self.batching = batching
        self.adjoint = adjoint
        self.merge = Merge(stack_heads(lambda key: fan_out_uniform(key, (width, dim)), heads, key=merge_key))

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        if sequence_parts() == 1 or not self._is_tokenwise():
            return self._mix(tokens, mask, key, trace=trace, axis=None)
        arrays, rest = eqx.partition(self, eqx.is_array)

        def part(arrays, tokens, mask, key):
            key = None if key is None else jax.random.fold_in(key, jax.lax.axis_index(SEQUENCE))
            return eqx.combine(arrays, rest)._mix(tokens, mask, key, trace=trace, axis=SEQUENCE)

        rows: Any = PartitionSpec(SEQUENCE)
        whole: Any = PartitionSpec()
        # Without the check of what varies from part to part, gradients of a part stay its own until they are summed.
        run = jax.shard_map(
            part,
            in_specs=(whole, rows, rows, whole),
            out_specs=Mixed(rows, whole),
            axis_names={SEQUENCE},
            check_vma=False,
        )
        return run(arrays, tokens, mask, key)

    def _is_tokenwise(self) -> bool:
        """Whether a part of the tokens can be learned from without the others."""
        is_tokenwise = lambda node: isinstance(node, TokenwiseLearner)  # noqa: E731
        found = any(map(is_tokenwise, jax.tree.leaves(self.start, is_leaf=is_tokenwise)))
        return found and isinstance(self.task, TokenwiseTask)

    def _mix(
        self,
        tokens: Float[Array, "n d"],
        mask: Bool[Array, " n"] | None,
        key: PRNGKeyArray | None,
        *,
        trace: bool,
        axis: str | None,
    ) -> Mixed:
        """Of all tokens, or of one part of them."""
        # All heads share the split into mini-batches; what a learner draws is each head's own.
        split = self.batching.draw(tokens.shape[0], mask=mask, key=key)
        heads = self.merge.weight.shape[0]
        keys = None if key is None else jax.random.split(key, heads)

        def learn(parts):
            task, start, optimizer, rates, key = parts
            how = {"rates": rates, "adjoint": self.adjoint, "axis": axis}
            learned = inner_loop(start, task, optimizer, split, tokens, mask=mask, key=key, losses=trace, **how)
            return learned.carry.learner, None if learned.losses is None else task.report(learned.losses)

        learners, losses = over_heads(learn, (self.task, self.start, self.optimizer, self.rates, keys))
        return Mixed(self.answer(learners, tokens), losses)

    def answer(self, learners: Any, tokens: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """h(f(ψ(X); W)), where each head has its learner."""

        def answer(tokens):
            def one(parts):
                psi, task, learner = parts
                queries = task.queries(at_least_float32(psi(tokens)))
                return task.outputs(answers_of(learner, queries), queries)

            answers = over_heads(one, (self.psi, self.task, learners))
            return self.merge(answers.astype(tokens.dtype))

        return self.adjoint.map(answer, tokens, learners)

    def report(self, losses: Float[Array, "heads *rest"]) -> Float[Array, "heads *rest"]:
        """Inner losses of every head in the unit in which people should see them."""
        return over_heads(lambda parts: parts[0].report(parts[1]), (self.task, losses))

    def trajectory(self, tokens: Float[Array, "n d"], *, token: Any = None) -> Trajectory:
        """What every head goes through on the tokens (n, d) of one input, W_0 … W_T; all arrays begin with heads.

        `token` asks for that token's share in every gradient.
        """
        split = self.batching.draw(tokens.shape[0])

        def one(parts):
            task, start, optimizer, rates = parts
            how = {"rates": rates, "adjoint": self.adjoint, "token": token}
            return trajectory(start, task, optimizer, split, tokens, **how)

        return over_heads(one, (self.task, self.start, self.optimizer, self.rates))


def _drawn(rates: MakeRates, dim: int, heads: int, *, key: PRNGKeyArray) -> Rates:
    """Rates for every head, if they have a meaning for tokens without an order."""
    check_maker("rates", rates, "dim, width, *, key")
    width = head_width(dim, heads)
    found = stack_heads(lambda key: check_made("rates", rates(dim, width, key=key), Rates), heads, key=key)
    found.whole(jnp.zeros(()), 1)
    return found
