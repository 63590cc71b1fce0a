"""Predicting the next token of a sequence, at every place of it."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mttt.outer.classification import Labelled
from mttt.outer.objective import Judged, Objective, Score


class NextToken(Objective):
    """Cross entropy with the token that comes next, the mean over the places of a row.

    The inputs of a row are n + 1 tokens. `read` makes what a model is given of them, all but the last; all but the
    first are predicted. Accuracy is how often the likeliest token is the one that comes. Labels are not looked at.
    """

    read: Callable[[Any], Any] = eqx.field(static=True)

    def prepare(self, batch: Labelled, *, key: PRNGKeyArray) -> Labelled:
        """The rows as they are."""
        return batch

    def count(self, rows: Labelled) -> Float[Array, ""]:
        """The sum of the weights."""
        return jnp.sum(jnp.asarray(rows.weights))

    def __call__(self, model: Any, rows: Labelled, *, key: PRNGKeyArray | None) -> Score:
        """Score the model's logits at every place."""
        logits = jax.vmap(lambda row: model(row, key=key))(self.read(rows.inputs))
        return _score(logits, rows)[0]

    def measure(self, model: Any, batch: Labelled) -> Judged:
        """Score the logits; keep what the inner loops did, and the loss at every place."""
        logits, losses = jax.vmap(model.trace)(self.read(batch.inputs))
        score, places = _score(logits, batch)
        return Judged(score, losses, by_position=places)


def _score(logits: Float[Array, "b n v"], rows: Labelled) -> tuple[Score, Float[Array, "b n"]]:
    """The score of a batch, and the loss of every row at every place."""
    targets: Int[Array, "b n"] = jnp.asarray(rows.inputs)[:, 1:].astype(jnp.int32)
    weights = jnp.asarray(rows.weights)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    correct = (jnp.argmax(logits, axis=2) == targets).astype(logits.dtype)
    total = lambda values: jnp.sum(jnp.mean(values, axis=1) * weights)  # noqa: E731
    return Score(total(losses), total(correct), jnp.sum(weights)), losses
