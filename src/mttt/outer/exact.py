"""The exact gradient of ℒ_T, through the inner loops."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray, PyTree

from mttt.nn import trainable
from mttt.nn.axis import data_parts, gathered, split_groups
from mttt.outer.objective import Objective
from mttt.outer.rule import Rule, Stepped, update


class ExactGradient(Rule):
    """An Optax update with the gradient of the mean loss.

    With `accumulate` = a, the rows go through the model in a parts, one after the other, and their gradients are added
    up: the same step in less memory.
    """

    optimizer: optax.GradientTransformation = eqx.field(static=True)
    accumulate: int = eqx.field(static=True, default=1)

    def init(self, model: Any) -> PyTree:
        """The optimizer's state."""
        return self.optimizer.init(eqx.filter(model, trainable(model)))

    def step(self, objective: Objective, model: Any, state: PyTree, batch: Any, key: PRNGKeyArray) -> Stepped:
        """One gradient, one update."""
        params, rest = eqx.partition(model, trainable(model))
        whole = gathered(params)
        rows = objective.prepare(batch, key=key)
        count = jnp.maximum(objective.count(rows), 1)  # a batch may be all fillers

        def gradient(rows: Any):
            def loss(params: Any):
                score = objective(eqx.combine(params, rest), rows, key=key)
                return score.loss / count, score

            (_, score), grads = jax.value_and_grad(loss, has_aux=True)(whole)
            return grads, score

        grads, score = gradient(rows) if self.accumulate == 1 else self._accumulated(gradient, rows)
        params, state, finite = update(self.optimizer, grads, params, state)
        return Stepped(eqx.combine(params, rest), state, score, finite & jnp.isfinite(score.loss))

    def _accumulated(self, gradient: Callable[[Any], Any], rows: Any) -> Any:
        """The sum over all parts of the rows.

        Rows that are split over devices form a group on each of them. Every group adds up its own gradient, and the
        groups are summed once, after the last part: the devices send one gradient, not one for each part.
        """
        parts = jax.tree.map(self._split, rows)
        groups = data_parts()
        if jax.tree.leaves(parts)[0].shape[1] % groups:
            groups = 1  # rows that do not divide are not split alike
        if groups == 1:
            return _sum_over(gradient, parts)
        parts = jax.tree.map(lambda a: a.reshape(a.shape[0], groups, -1, *a.shape[2:]), parts)
        total = _sum_over(lambda part: jax.vmap(gradient)(split_groups(part)), parts, split_groups)
        return jax.tree.map(lambda a: a.sum(axis=0), total)

    def _split(self, leaf: Any) -> Any:
        size = leaf.shape[0]
        if size % self.accumulate:
            raise ValueError(f"accumulate={self.accumulate} does not divide a batch of {size}")
        # Every part has rows from everywhere: a device that has some rows of the batch has some of every part.
        return leaf.reshape(size // self.accumulate, self.accumulate, *leaf.shape[1:]).swapaxes(0, 1)


def _sum_over(function: Callable[[Any], Any], parts: Any, placed: Callable[[Any], Any] = lambda tree: tree) -> Any:
    """The sum of function(part), one part after the other; `placed` says where the sum is."""
    shapes = jax.eval_shape(function, jax.tree.map(lambda a: a[0], parts))
    nothing = placed(jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes))

    def add(total: Any, part: Any) -> tuple[Any, None]:
        return placed(jax.tree.map(jnp.add, total, placed(function(part)))), None

    return jax.lax.scan(add, nothing, parts)[0]
