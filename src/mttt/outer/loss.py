"""The outer loss ℒ_T: how well the model predicts after T steps of learning at test time."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mttt.data import Batch, to_float
from mttt.models import ViT


class Score(NamedTuple):
    """Sums over the images of a batch, and how many there were."""

    loss: Float[Array, ""]
    correct: Float[Array, ""]
    images: Float[Array, ""]


def score(logits: Float[Array, "b classes"], labels: Int[Array, " b"], weights: Float[Array, " b"]) -> Score:
    """Softmax cross entropy and accuracy; rows of weight 0 do not count."""
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    correct = (jnp.argmax(logits, axis=1) == labels).astype(logits.dtype)
    return Score(jnp.sum(losses * weights), jnp.sum(correct * weights), jnp.sum(weights))


def outer_loss(
    model: ViT, batch: Batch, *, dtype: jnp.dtype | type = jnp.float32, key: PRNGKeyArray | None = None
) -> tuple[Float[Array, ""], Score]:
    """Mean ℒ_T of a batch. The key is shared by its images: they split their tokens into mini-batches alike."""
    logits = jax.vmap(lambda image: model(image, key=key))(to_float(batch.images, dtype))
    scored = score(logits, jnp.asarray(batch.labels), jnp.asarray(batch.weights))
    return scored.loss / scored.images, scored
