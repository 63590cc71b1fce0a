"""Classification: softmax cross entropy of a model that gives logits."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mttt.outer.objective import Answers, Judged, Objective, Score


@runtime_checkable
class Labelled(Protocol):
    """A batch for classification. A row of weight 0 only fills the batch up."""

    @property
    def inputs(self) -> Any: ...

    @property
    def labels(self) -> Any: ...

    @property
    def weights(self) -> Any: ...


def score(
    logits: Float[Array, "b classes"],
    labels: Int[Array, " b"],
    weights: Float[Array, " b"],
    targets: Float[Array, "b classes"] | None = None,
) -> Score:
    """Softmax cross entropy, with the targets if there are any, and accuracy; rows of weight 0 do not count."""
    if targets is None:
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    else:
        losses = optax.softmax_cross_entropy(logits, targets)
    correct = (jnp.argmax(logits, axis=1) == labels).astype(logits.dtype)
    return Score(jnp.sum(losses * weights), jnp.sum(correct * weights), jnp.sum(weights))


class Classification(Objective):
    """Cross entropy with the labels.

    `read` makes what a model computes with out of inputs as they are stored, such as floats out of bytes; it is given
    the inputs of a batch. The key is shared by the rows: they split their tokens into mini-batches alike.
    """

    read: Callable[[Any], Any] = eqx.field(static=True)

    def prepare(self, batch: Labelled, *, key: PRNGKeyArray) -> Labelled:
        """The rows as they are."""
        return batch

    def count(self, rows: Labelled) -> Float[Array, ""]:
        """The sum of the weights."""
        return jnp.sum(jnp.asarray(rows.weights))

    def __call__(self, model: Any, rows: Labelled, *, key: PRNGKeyArray | None) -> Score:
        """Score the model's logits."""
        logits = jax.vmap(lambda row: model(row, key=key))(self.read(rows.inputs))
        return score(logits, jnp.asarray(rows.labels), jnp.asarray(rows.weights))

    def measure(self, model: Any, batch: Labelled) -> Judged:
        """Score the logits; keep what the inner loops did, and what each row was taken for."""
        logits, losses = jax.vmap(model.trace)(self.read(batch.inputs))
        labels, weights = jnp.asarray(batch.labels), jnp.asarray(batch.weights)
        return Judged(score(logits, labels, weights), losses, Answers(labels, jnp.argmax(logits, axis=1)))
