"""The exact gradient of ℒ_T, through the inner loops."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray, PyTree

from mttt.nn import trainable
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
        rows = objective.prepare(batch, key=key)
        count = jnp.maximum(objective.count(rows), 1)  # a batch may be all fillers

        def gradient(rows: Any):
            def loss(params: Any):
                score = objective(eqx.combine(params, rest), rows, key=key)
                return score.loss / count, score

            (_, score), grads = jax.value_and_grad(loss, has_aux=True)(params)
            return grads, score

        if self.accumulate == 1:
            grads, score = gradient(rows)
        else:
            parts = jax.tree.map(self._split, rows)
            shapes = jax.eval_shape(gradient, jax.tree.map(lambda a: a[0], parts))
            nothing = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)
            add = lambda total, part: (jax.tree.map(jnp.add, total, gradient(part)), None)  # noqa: E731
            (grads, score), _ = jax.lax.scan(add, nothing, parts)
        params, state, finite = update(self.optimizer, grads, params, state)
        return Stepped(eqx.combine(params, rest), state, score, finite & jnp.isfinite(score.loss))

    def _split(self, leaf: Any) -> Any:
        size = leaf.shape[0]
        if size % self.accumulate:
            raise ValueError(f"accumulate={self.accumulate} does not divide a batch of {size}")
        # Every part has rows from everywhere: a device that has some rows of the batch has some of every part.
        return leaf.reshape(size // self.accumulate, self.accumulate, *leaf.shape[1:]).swapaxes(0, 1)
