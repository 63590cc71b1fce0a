"""The TTT layer for sequences: an inner loop that learns while it reads."""

from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mttt.inner import (
    Adjoint,
    AnswerThenLearn,
    Carry,
    Chunking,
    Chunks,
    GradientDescent,
    MeanRates,
    Optimizer,
    Rates,
    Recompute,
    Reconstruction,
    Start,
    Task,
    Trained,
    online_loop,
)
from mttt.inner.learner import TokenwiseLearner, answers_of
from mttt.inner.task import TokenwiseTask
from mttt.mixers.base import Mixed
from mttt.mixers.causal import CausalMixer, float_dtype, over_real
from mttt.mixers.heads import Merge, head_width, over_heads, spread, stack_heads
from mttt.mixers.trial import check_learner, check_made, check_maker, check_optimizer
from mttt.mixers.ttt import MakeLearner, MakeRates, MakeStart, MakeTask
from mttt.nn import Dense
from mttt.nn.axis import mean_of
from mttt.nn.check import check_instance, check_key, check_rows
from mttt.nn.dense import at_least_float32, fan_in_uniform, fan_out_uniform


class Reading(NamedTuple):
    """What the tokens so far leave behind: W of every head before the chunk that is being read, and its tokens."""

    carries: Carry  # every array has a leading axis of heads
    waiting: Float[Array, "room d"]  # room for all tokens of a chunk but one; zeros after the last
    held: Int[Array, ""]  # how many are waiting


@final
class CausalTTT(CausalMixer):
    """The TTT layer for sequences: an inner loop that learns while it reads, one for each head.

        x_t ↦ h(f(ψ(x_t); W_t)), where W_t has learned from x_1 … x_t

        CausalTTT(dim, heads, learner=MLPLearner, task=partial(KeyValue, norm=True, residual=True),
                  rates=partial(PlacedRates, size=16), key=key)  # TTT-MLP
        CausalTTT(dim, heads, learner=LinearLearner, start=Zeros, task=partial(KeyValue, unit=True, output_norm=True),
                  rates=GatedRates, chunks=Chunks(1), key=key)  # the delta rule; the gated one has DecayingRates

    Time grows with n, the state does not. Learners made of affine maps (`LayeredLearner`) with `GradientDescent` take a
    few products a chunk, and what answers before it learns one gradient; everything else makes each token's weights.
    With `trace`, inner losses are (H, 2): that of all tokens with W₀, and with the W before each token's chunk.

    Arguments:
    - dim: d, the width of a token
    - heads: H, which divides d; a learner is k = d/H wide
    - learner: makes a `TokenwiseLearner`, as `learner(k, key=key)`
    - start: makes W₀ of the learner; `Trained` by default
    - task: makes a `TokenwiseTask`, as `task(d, k, key=key)`; `Reconstruction` by default
    - optimizer: one update rule, of which each head gets a copy; `GradientDescent()`, with η = 1, by default
    - rates: makes rates, as `rates(d, k, key=key)`; `MeanRates` by default
    - chunks: the tokens of one step: `Chunks(b)` or `AnswerThenLearn(b)`; `Chunks(16)` by default
    - adjoint: trades memory for time, and changes no number; `Recompute()` by default
    - key: random key for all parameters

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.CausalTTT(16, 2, learner=mttt.MLPLearner, chunks=mttt.Chunks(4), key=jax.random.key(0))
        >>> first, state = eqx.filter_jit(layer.go_on)(layer.start(), jnp.ones((10, 16)))
        >>> first.shape, int(state.carries.t[0])
        ((10, 16), 2)

    Reference: Sun et al. (2024), arXiv 2407.04620; Yang et al. (2024), arXiv 2406.06484 and 2412.06464.
    """

    psi: Dense
    task: Task
    initial: Start
    optimizer: Optimizer
    rates: Rates
    chunks: Chunking
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
        rates: MakeRates = MeanRates,
        chunks: Chunking = Chunks(),  # noqa: B008
        adjoint: Adjoint = Recompute(),  # noqa: B008
        key: PRNGKeyArray,
    ):
        check_maker("learner", learner, "width, *, key")
        check_maker("task", task, "dim, width, *, key")
        check_maker("start", start, "learner")
        check_maker("rates", rates, "dim, width, *, key")
        check_optimizer(optimizer)
        check_instance("chunks", chunks, Chunking, "Chunks(16)")
        check_instance("adjoint", adjoint, Adjoint, "Recompute()")
        width = head_width(dim, heads)
        check_key(key)
        psi_key, task_key, learner_key, merge_key, rates_key = jax.random.split(key, 5)
        make_psi = partial(Dense, dim, width, kernel_init=fan_in_uniform)
        self.psi = stack_heads(lambda key: make_psi(key=key), heads, key=psi_key)
        self.task = stack_heads(
            lambda key: check_made("task", task(dim, width, key=key), TokenwiseTask), heads, key=task_key
        )
        self.initial = stack_heads(
            lambda key: check_made("start", start(_alone(check_learner(learner(width, key=key), width))), Start),
            heads,
            key=learner_key,
        )
        self.optimizer = spread(optimizer, (heads,))
        self.rates = stack_heads(
            lambda key: _fitting(check_made("rates", rates(dim, width, key=key), Rates), chunks), heads, key=rates_key
        )
        self.chunks = chunks
        self.adjoint = adjoint
        self.merge = Merge(stack_heads(lambda key: fan_out_uniform(key, (width, dim)), heads, key=merge_key))

    def start(self, dtype: Any = None) -> Reading:
        dtype = float_dtype(dtype)
        room, dim = self.chunks.size - 1, self.merge.weight.shape[2]
        return Reading(self._first(dtype), jnp.zeros((room, dim), dtype), jnp.zeros((), int))

    def _first(self, dtype: Any) -> Carry:
        inner = at_least_float32(jnp.zeros(0, dtype)).dtype
        first = lambda parts: parts[0].first(parts[1], inner)  # noqa: E731
        heads = jnp.arange(self.merge.weight.shape[0])  # a start of zeros has no arrays that would tell how many
        return over_heads(first, (self.initial, self.optimizer, heads))

    def mix(
        self, tokens: Float[Array, "n d"], *, mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Mixed:
        # Real tokens first, in their order: chunks are as in the input without the others.
        there = None if mask is None else jnp.arange(len(mask)) < jnp.sum(mask)
        first, losses = self._first(tokens.dtype), None

        def read(tokens: Float[Array, "n d"]) -> Float[Array, "n d"]:
            nonlocal losses
            losses = self._losses(first, tokens, there) if trace else None
            return self._read(first, tokens, there)[0]

        return Mixed(over_real(read, tokens, mask), losses)

    def advance(self, state: Reading, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Reading]:
        carries, waiting, held = state
        check_rows(tokens, waiting.shape[1])
        (m, dim), size, room = tokens.shape, self.chunks.size, waiting.shape[0]
        if size == 1:
            mixed, carries = self._read(carries, tokens, None)
            return mixed, Reading(carries, waiting, held)
        # Chunks begin where the state's chunk begins, so that all cuts of a sequence have the same chunks.
        slots = -(-(room + m) // size) * size
        grid = jnp.zeros((slots + room, dim), tokens.dtype).at[:room].set(waiting)
        grid = jax.lax.dynamic_update_slice(grid, tokens, (held, jnp.zeros_like(held)))
        there = held + m
        mixed, carries = self._read(carries, grid[:slots], jnp.arange(slots) < there)
        begin = there // size * size
        cut = lambda rows, at, length: jax.lax.dynamic_slice(rows, (at, jnp.zeros_like(at)), (length, dim))  # noqa: E731
        return cut(mixed, held, m), Reading(carries, cut(grid, begin, room), there - begin)

    def _read(
        self, carries: Carry, tokens: Float[Array, "n d"], mask: Bool[Array, " n"] | None
    ) -> tuple[Float[Array, "n d"], Carry]:
        """Tokens from the beginning of a chunk on."""

        def read(parts):
            psi, task, carry, optimizer, rates = parts
            queries = task.queries(at_least_float32(psi(tokens)))
            found = online_loop(
                carry, task, optimizer, rates, self.chunks, tokens, queries, mask=mask, adjoint=self.adjoint
            )
            return task.outputs(found.answers, queries), found.carry

        outputs, carries = over_heads(read, (self.psi, self.task, carries, self.optimizer, self.rates))
        return self.merge(outputs.astype(tokens.dtype)), carries

    def _losses(
        self, first: Carry, tokens: Float[Array, "n d"], mask: Bool[Array, " n"] | None
    ) -> Float[Array, "heads 2"]:
        before = AnswerThenLearn(self.chunks.size)

        def losses(parts):
            task, carry, optimizer, rates = parts
            problem = task.problem(tokens)
            found = online_loop(
                carry, task, optimizer, rates, before, tokens, problem.inputs, mask=mask, adjoint=self.adjoint
            )
            each = jnp.stack(
                [problem.losses_of(answers_of(carry.learner, problem.inputs)), problem.losses_of(found.answers)]
            )
            real = each if mask is None else jnp.where(mask[None, :], each, 0)
            return task.report(mean_of(jnp.sum(real, axis=1), len(tokens) if mask is None else jnp.sum(mask)))

        return over_heads(losses, (self.task, first, self.optimizer, self.rates))


def _fitting(rates: Rates, chunks: Chunking) -> Rates:
    """The rates, if they have one for every place of a chunk."""
    jax.eval_shape(lambda: rates.places(chunks.size))
    return rates


def _alone(learner: Any) -> Any:
    """The learner, if it answers each token for itself."""
    if not isinstance(learner, TokenwiseLearner):
        raise ValueError(
            f"the learner {type(learner).__name__} may mix tokens, so it would see those that are still to come. Make "
            "it a TokenwiseLearner if it answers each token for itself, or use TTT, which learns from all tokens first"
        )
    return learner
