"""What is asked of a model: the value of a key, where the key is asked for."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.outer import Judged, Objective, Score
from mttt.studies.recall.sequences import Questions


class Recalled(Objective):
    """Cross entropy of the values that are asked for, the mean over the questions of an input; nothing else counts.

    The model has logits for the questions alone.
    """

    def prepare(self, batch: Questions, *, key: PRNGKeyArray) -> Questions:
        """The batch as it is."""
        return batch

    def count(self, rows: Questions) -> Float[Array, ""]:
        """How many there are."""
        return jnp.sum(jnp.asarray(rows.weights))

    def __call__(self, model: Any, rows: Questions, *, key: PRNGKeyArray | None) -> Score:
        """Score the logits where a key is asked for."""
        inputs, answers, weights = map(jnp.asarray, rows)
        logits = jax.vmap(lambda row: model(row, key=key))(inputs)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, answers)
        correct = (jnp.argmax(logits, axis=2) == answers).astype(logits.dtype)
        total = lambda each: jnp.sum(jnp.mean(each, axis=1) * weights)  # noqa: E731
        return Score(total(losses), total(correct), jnp.sum(weights))

    def measure(self, model: Any, batch: Questions) -> Judged:
        """The same; what the inner loops did is not looked at."""
        return Judged(self(model, batch, key=None), None)
