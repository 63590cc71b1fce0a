"""All that changes while the outer loop trains."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PRNGKeyArray

from mttt.models import ViT
from mttt.nn import trainable
from mttt.outer.loss import Score

NEVER = -1


class State(eqx.Module):
    """Model, optimizer state, step, key; and sums for the next line of metrics, so that a resumed run writes it too."""

    model: ViT
    optimizer_state: Any
    step: Int[Array, ""]
    key: PRNGKeyArray
    totals: Score  # since the last line of metrics
    broken: Int[Array, ""]  # the first step, counted from 1, that was not finite

    def __init__(self, model: ViT, optimizer: optax.GradientTransformation, *, key: PRNGKeyArray):
        self.model = model
        self.optimizer_state = optimizer.init(eqx.filter(model, trainable(model)))
        self.step = jnp.zeros((), jnp.int32)
        self.key = key
        self.totals = Score(*jnp.zeros((3,)))
        self.broken = jnp.full((), NEVER, jnp.int32)

    def reset_totals(self) -> "State":
        return eqx.tree_at(lambda state: state.totals, self, Score(*jnp.zeros((3,))))
