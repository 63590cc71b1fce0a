"""An outer rule: how a model changes when it has seen a batch."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree

from mttt.outer.objective import Objective, Score


class Stepped(NamedTuple):
    """What a step of a rule leaves behind."""

    model: Any
    state: PyTree
    score: Score
    finite: Bool[Array, ""]
    """are the loss, what the rule made of it, and the new model free of NaN and infinity?"""


class Rule(eqx.Module):
    """Changes the arrays of a model that are `mttt.nn.trainable`, and no others."""

    @abstractmethod
    def init(self, model: Any) -> PyTree:
        """What the rule remembers from step to step."""

    @abstractmethod
    def step(self, objective: Objective, model: Any, state: PyTree, batch: Any, key: PRNGKeyArray) -> Stepped:
        """One update."""


def update(
    optimizer: optax.GradientTransformation, direction: PyTree, params: PyTree, state: PyTree
) -> tuple[PyTree, PyTree, Bool[Array, ""]]:
    """Parameters after an Optax update, its state, and whether all of it is finite.

    The new parameters too: a step can be too large for the next one to be noticed in time.
    """
    updates, state = optimizer.update(direction, state, params)
    params = optax.apply_updates(params, updates)
    return params, state, jnp.isfinite(optax.tree.norm(direction)) & jnp.isfinite(optax.tree.norm(params))
