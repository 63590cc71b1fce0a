"""All that changes while the outer loop trains."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from mttt.outer.objective import Score
from mttt.outer.rule import Rule

NEVER = -1


class State(eqx.Module):
    """Model, what the rule remembers, step, key; and sums for the next line of metrics: a resumed run writes it too."""

    model: Any
    rule_state: PyTree
    step: Int[Array, ""]
    key: PRNGKeyArray
    totals: Score  # since the last line of metrics
    broken: Int[Array, ""]  # the first step, counted from 1, that was not finite

    def __init__(self, model: Any, rule: Rule, *, key: PRNGKeyArray):
        self.model = model
        self.rule_state = rule.init(model)
        self.step = jnp.zeros((), jnp.int32)
        self.key = key
        self.totals = Score(*jnp.zeros((3,)))
        self.broken = jnp.full((), NEVER, jnp.int32)

    def reset_totals(self) -> "State":
        return eqx.tree_at(lambda state: state.totals, self, Score(*jnp.zeros((3,))))
