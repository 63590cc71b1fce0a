"""Evaluation: accuracy, loss, and what the inner loops did. Deterministic; the model is not changed."""

from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mttt.data import BadData, Batch, EvaluationBatches, Skipped
from mttt.data.pictures import to_float
from mttt.models import ViT
from mttt.outer.loss import score


class Evaluation(NamedTuple):
    """Means over the images.

    `inner_losses[layer][head][t]` is half the squared error of the reconstruction, averaged over tokens and features;
    None for mixers without an inner loop.
    """

    accuracy: float
    loss: float
    images: int
    inner_losses: np.ndarray | None
    problems: tuple[Skipped, ...] = ()  # images that could not be used

    def per_layer(self) -> list[list[float]] | None:
        """[layer][t], the mean over heads."""
        return None if self.inner_losses is None else self.inner_losses.mean(axis=1).tolist()


@eqx.filter_jit
def _evaluate_batch(model: ViT, batch: Batch, dtype: jnp.dtype | type):
    traced = jax.vmap(model.trace)(to_float(batch.inputs, dtype))
    losses = traced.losses
    weighted = None if losses is None else jnp.einsum("b,blht->lht", batch.weights, losses)
    return score(traced.logits, jnp.asarray(batch.labels), jnp.asarray(batch.weights)), weighted


def evaluate(
    model: ViT, batches: Iterable[Batch] | EvaluationBatches, *, dtype: jnp.dtype | type = jnp.float32
) -> Evaluation:
    """Sums are float64 on the host, so the result does not depend on the size of the batches more than float32 does."""
    totals, inner = np.zeros(3), None
    for batch in batches:
        scored, losses = _evaluate_batch(model, jax.tree.map(jnp.asarray, batch), dtype)
        totals += np.array([float(total) for total in scored])
        if losses is not None:
            inner = np.asarray(losses, np.float64) + (0 if inner is None else inner)
    loss, correct, images = totals
    problems = tuple(batches.skipped) if isinstance(batches, EvaluationBatches) else ()
    if not images:
        raise BadData("there is no image to evaluate on" + "".join(f"; {name}: {why}" for name, why in problems[:1]))
    return Evaluation(correct / images, loss / images, int(images), None if inner is None else inner / images, problems)
