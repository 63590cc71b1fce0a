"""The TTT layer: an inner loop in the place of attention."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner import (
    Batching,
    FullBatch,
    GradientDescent,
    NonParametric,
    Optimizer,
    Reconstruction,
    Task,
    block_size,
    inner_loop,
    map_blocks,
)
from mttt.mixers.base import Mixed, Mixer
from mttt.mixers.heads import Merge, head_width, over_heads, stack_heads
from mttt.nn import Dense
from mttt.nn.dense import fan_in_uniform, fan_out_uniform, wide


@runtime_checkable
class MakeLearner(Protocol):
    """Draws a learner of a given width; learner classes are their own makers."""

    def __call__(self, width: int, *, key: PRNGKeyArray) -> Any: ...


@runtime_checkable
class MakeTask(Protocol):
    """Draws a task for tokens of width `dim` and a learner of width `width`."""

    def __call__(self, dim: int, width: int, *, key: PRNGKeyArray) -> Task: ...


class TTT(Mixer):
    """X ↦ h(f(ψ(X); W_T)), where W_T is what the inner loop made of W₀ on X (eq. 3). H heads are H inner loops.

    MTTT-Linear is `TTT(dim, heads, learner=zero_linear, task=partial(Reconstruction, decoder_norm=False), key=key)`;
    MTTT-MLP is `TTT(dim, heads, learner=MLPLearner, key=key)`.

    `block` is how many tokens a `Blockwise` learner learns from at a time, at most: fewer take less memory, n is all at
    once. By default it is chosen from n. The numbers are the same.
    """

    psi: Dense
    task: Task
    learner: Any
    optimizer: Optimizer
    batching: Batching
    merge: Merge
    block: int | None = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        learner: MakeLearner,
        task: MakeTask = Reconstruction,
        optimizer: Callable[[], Optimizer] = GradientDescent,
        batching: Batching | None = None,
        block: int | None = None,
        key: PRNGKeyArray,
    ):
        width = head_width(dim, heads)
        psi_key, task_key, learner_key, merge_key = jax.random.split(key, 4)
        make_psi = partial(Dense, dim, width, kernel_init=fan_in_uniform)
        self.psi = stack_heads(lambda key: make_psi(key=key), heads, key=psi_key)
        self.task = stack_heads(lambda key: task(dim, width, key=key), heads, key=task_key)
        self.learner = stack_heads(lambda key: learner(width, key=key), heads, key=learner_key)
        self.optimizer = stack_heads(lambda key: optimizer(), heads, key=key)
        self.batching = FullBatch(1) if batching is None else batching
        self.block = block
        self.merge = Merge(stack_heads(lambda key: fan_out_uniform(key, (width, dim)), heads, key=merge_key))

    def __call__(self, tokens: Float[Array, "n d"], *, key: PRNGKeyArray | None = None, trace: bool = False) -> Mixed:
        def learn(parts):
            task, learner, optimizer = parts
            trained = inner_loop(
                learner, task, optimizer, self.batching, tokens, key=key, losses=trace, block=self.block
            )
            return trained.learner, None if trained.losses is None else task.report(trained.losses)

        learners, losses = over_heads(learn, (self.task, self.learner, self.optimizer))

        def answer(tokens):
            features = eqx.filter_vmap(lambda psi, learner: learner(wide(psi(tokens))))(self.psi, learners)
            return self.merge(features.astype(tokens.dtype))

        # Answers are differentiated once, the inner loss twice: half the arrays, so twice the tokens unless told.
        at_most = (2 if self.block is None else 1) * block_size(learners, tokens.shape[0], self.block)
        return Mixed(map_blocks(answer, tokens, at_most), losses)


def _is_ttt(node: Any) -> bool:
    return isinstance(node, TTT)


def has_inner_loop(tree: Any) -> bool:
    """Whether a model takes inner steps: it has a TTT layer, and its learner has weights."""
    layers = [node for node in jax.tree.leaves(tree, is_leaf=_is_ttt) if _is_ttt(node)]
    return any(not isinstance(layer.learner, NonParametric) for layer in layers)


def with_inner_loop(tree: Any, *, steps: int | None = None, rate: float | None = None) -> Any:
    """The same model with another T or a fixed η in all of its TTT layers; nothing is trained anew."""

    def change(node):
        if not _is_ttt(node):
            return node
        batching = node.batching if steps is None else node.batching.with_steps(steps)
        optimizer = node.optimizer if rate is None else node.optimizer.with_rate(rate)
        parts = (Batching, Optimizer)
        return eqx.tree_at(
            lambda ttt: (ttt.batching, ttt.optimizer),
            node,
            (batching, optimizer),
            is_leaf=lambda x: isinstance(x, parts),
        )

    return jax.tree.map(change, tree, is_leaf=_is_ttt)
