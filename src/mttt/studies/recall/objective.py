"""What is asked of a model: the value of a key, where the key is asked for."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.outer import Judged, Objective, Score
from mttt.studies.recall.sequences import Sequences


class Recalled(Objective):
    """Cross entropy of the values that are asked for, the mean over the questions of a sequence; nothing else counts.

    The model sees a sequence without its last token, which is only predicted, and has logits for the questions alone.
    """

    def prepare(self, batch: Sequences, *, key: PRNGKeyArray) -> Sequences:
        """The sequences as they are."""
        return batch

    def count(self, rows: Sequences) -> Float[Array, ""]:
        """How many there are."""
        return jnp.sum(jnp.asarray(rows.weights))

    def __call__(self, model: Any, rows: Sequences, *, key: PRNGKeyArray | None) -> Score:
        """Score the logits where a key is asked for."""
        tokens = jnp.asarray(rows.tokens)
        first = tokens.shape[1] // 2  # the first key that is asked for
        logits = jax.vmap(lambda row: model(row, key=key))(tokens[:, :-1])
        values = tokens[:, first + 1 :: 2]
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, values)
        correct = (jnp.argmax(logits, axis=2) == values).astype(logits.dtype)
        weights = jnp.asarray(rows.weights)
        total = lambda each: jnp.sum(jnp.mean(each, axis=1) * weights)  # noqa: E731
        return Score(total(losses), total(correct), jnp.sum(weights))

    def measure(self, model: Any, batch: Sequences) -> Judged:
        """The same; what the inner loops did is not looked at."""
        return Judged(self(model, batch, key=None), None)
