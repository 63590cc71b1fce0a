"""The outer loss ℒ_T: how well the model predicts after T steps of learning at test time."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mttt.data import Batch
from mttt.data.pictures import to_float
from mttt.models import ViT
from mttt.outer.mixup import blend, partner_shares, rows_before


class Score(NamedTuple):
    """Sums over the images of a batch, and how many there were."""

    loss: Float[Array, ""]
    correct: Float[Array, ""]
    images: Float[Array, ""]


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


def outer_loss(
    model: ViT,
    batch: Batch,
    *,
    dtype: jnp.dtype | type = jnp.float32,
    partners: Batch | None = None,
    mixup: float = 0.0,
    images: Float[Array, ""] | None = None,
    key: PRNGKeyArray | None = None,
) -> tuple[Float[Array, ""], Score]:
    """Mean ℒ_T of a batch. The key is shared by its images: they split their tokens into mini-batches alike.

    With `mixup` = α > 0, image and label are mixed with its partner's first, by default the row before it; accuracy
    still counts each image's own label. The sum is divided by `images`, if this is part of a larger batch.
    """
    pixels, targets = to_float(batch.inputs, dtype), None
    labels, weights = jnp.asarray(batch.labels), jnp.asarray(batch.weights)
    if mixup:
        if key is None:
            raise ValueError(f"mixup={mixup} needs a key")
        key, mixup_key = jax.random.split(key)
        partners = rows_before(batch) if partners is None else partners
        shares = partner_shares(jnp.asarray(partners.weights), alpha=mixup, key=mixup_key)
        pixels = blend(pixels, to_float(partners.inputs, dtype), shares)
        classes = model.classes
        own, other = (jax.nn.one_hot(each, classes) for each in (labels, jnp.asarray(partners.labels)))
        targets = blend(own, other, shares)
    logits = jax.vmap(lambda image: model(image, key=key))(pixels)
    scored = score(logits, labels, weights, targets)
    return scored.loss / (scored.images if images is None else images), scored
