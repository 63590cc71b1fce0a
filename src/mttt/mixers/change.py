"""Other inner loops in a model that is trained."""

import dataclasses
from typing import Any

import equinox as eqx
import jax

from mttt.inner import Batching, GradientDescent, MeanRates, Memory, Optimizer, Rates
from mttt.mixers.causal_ttt import CausalTTT
from mttt.mixers.heads import spread
from mttt.mixers.trial import check_optimizer
from mttt.mixers.ttt import TTT


def _learns(node: Any) -> bool:
    return isinstance(node, TTT | CausalTTT)


def has_inner_loop(tree: Any) -> bool:
    """Whether a model takes inner steps: it has a TTT layer, and its learner has weights."""
    layers = [node for node in jax.tree.leaves(tree, is_leaf=_learns) if _learns(node)]
    return any(isinstance(layer, CausalTTT) or not isinstance(layer.start, Memory) for layer in layers)


def with_inner_loop(tree: Any, *, steps: int | None = None, optimizer: Optimizer | None = None) -> Any:
    """The same model with another T or another optimizer in all of its TTT layers; nothing is trained anew.

    A model is usually best with the T that it was trained with.

    Arguments:
    - tree: a model, a layer, or any pytree of them
    - steps: T; None leaves it as it is. A `CausalTTT` has no T: its steps are its chunks, and a number is an error
    - optimizer: the update rule of all layers; None leaves it as it is

    Returns: a model like the given one. What has no inner loop comes back unchanged.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, key=jax.random.key(0))
        >>> more = mttt.with_inner_loop(layer, steps=3, optimizer=mttt.GradientDescent(0.5))
        >>> more.batching.steps, eqx.filter_jit(more)(jnp.ones((10, 16)), trace=True).losses.shape
        (3, (2, 4))
    """
    if optimizer is not None:
        check_optimizer(optimizer)

    def change(node: Any) -> Any:
        if not _learns(node):
            return node
        if steps is not None and isinstance(node, CausalTTT):
            raise ValueError(f"steps={steps}: this layer learns while it reads, a step for each chunk of tokens")
        if steps is not None:
            batching = dataclasses.replace(node.batching, steps=steps)
            node = eqx.tree_at(lambda ttt: ttt.batching, node, batching, is_leaf=lambda x: isinstance(x, Batching))
        if optimizer is not None:
            axes = node.merge.weight.shape[:-2]  # heads, and blocks before them in a stack
            chosen = spread(optimizer, axes)
            node = eqx.tree_at(lambda ttt: ttt.optimizer, node, chosen, is_leaf=lambda x: isinstance(x, Optimizer))
        return node

    return jax.tree.map(change, tree, is_leaf=_learns)


def frozen(tree: Any) -> Any:
    """The same model, in which no token changes W: its TTT layers answer with W₀."""

    def change(node: Any) -> Any:
        if not isinstance(node, CausalTTT):
            return node
        width, dim = node.merge.weight.shape[-2:]  # other rates than these may let W decay
        return eqx.tree_at(lambda ttt: ttt.rates, node, MeanRates(dim, width), is_leaf=lambda x: isinstance(x, Rates))

    still = with_inner_loop(tree, optimizer=GradientDescent(0.0))
    return jax.tree.map(change, still, is_leaf=_learns)
