"""Evaluation: accuracy, loss, and what the inner loops did. Deterministic; the model is not changed."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mttt.outer.objective import Answers, Objective


class NothingToEvaluate(ValueError):
    """No row of any batch counts."""


class Evaluation(NamedTuple):
    """Means over the examples.

    `inner_losses[layer][head][t]` is what the inner loops made small, for the task of the paper half the squared error
    of the reconstruction, averaged over tokens and features; None for models without an inner loop.
    """

    accuracy: float
    loss: float
    examples: int
    inner_losses: np.ndarray | None
    answers: Answers | None = None
    """of every example that counts, in order; None where there are no classes"""
    by_position: np.ndarray | None = None
    """the loss at every place of a sequence; None where there is one prediction for an example"""

    @property
    def bits(self) -> float:
        """The loss in bits; for a text those that a byte takes."""
        return self.loss / math.log(2)

    def per_layer(self) -> list[list[float]] | None:
        """[layer][t], the mean over heads."""
        return None if self.inner_losses is None else self.inner_losses.mean(axis=1).tolist()

    def ends_by_head(self) -> list[list[list[float]]] | None:
        """[layer][head][0: at t = 0, 1: at t = T]."""
        return None if self.inner_losses is None else self.inner_losses[:, :, [0, -1]].tolist()

    def record(self) -> dict[str, Any]:
        """For metrics, results and programs. Where learning at test time diverged, there are no losses."""
        finite = math.isfinite(self.loss)
        learned = finite and self.inner_losses is not None and bool(np.isfinite(self.inner_losses).all())
        text = {} if self.by_position is None else {"bits_per_byte": self.bits if finite else None}
        return {
            "accuracy": self.accuracy,
            "loss": self.loss if finite else None,
            **text,
            "inner_losses": self.per_layer() if learned else None,
            "inner_losses_by_head": self.ends_by_head() if learned else None,
            "examples": self.examples,
        }


@eqx.filter_jit
def _evaluate_batch(model: Any, batch: Any, objective: Objective):
    score, losses, answers, places = objective.measure(model, batch)
    weighted = None if losses is None else jnp.einsum("b,blht->lht", batch.weights, losses)
    by_position = None if places is None else jnp.einsum("b,bn->n", batch.weights, places)
    return score, weighted, batch.weights, answers, by_position


def evaluate(
    model: Any,
    batches: Iterable[Any],
    *,
    objective: Objective,
    put: Callable[[Any], Any] = lambda batch: jax.tree.map(jnp.asarray, batch),
    get: Callable[[Any], Any] = lambda arrays: arrays,
) -> Evaluation:
    """A model with a `trace`, on batches with `weights`: rows of weight 0 do not count.

    `put` brings a batch to the devices, and `get` brings what was computed back to where it can be read.

    Sums are float64 on the host, so the result does not depend on the size of the batches more than float32 does.
    """
    totals, examples, inner, places, answered = np.zeros(3), 0.0, None, None, []
    for batch in batches:
        score, losses, weights, answers, by_position = get(_evaluate_batch(model, put(batch), objective))
        totals += np.array([float(score.loss), float(score.correct), float(score.count)])
        real = np.asarray(weights) > 0
        examples += float(np.sum(np.asarray(weights)))
        inner, places = _added(inner, losses), _added(places, by_position)
        if answers is not None:
            answered.append(Answers(*(np.asarray(part)[real] for part in answers)))
    loss, correct, count = totals
    if not count:
        raise NothingToEvaluate("there is nothing to evaluate on: no row of any batch counts")
    together = Answers(*map(np.concatenate, zip(*answered, strict=True))) if answered else None
    means = (None if total is None else total / examples for total in (inner, places))
    return Evaluation(correct / count, loss / count, int(examples), next(means), together, next(means))


def _added(total: np.ndarray | None, part: Any) -> np.ndarray | None:
    return total if part is None else np.asarray(part, np.float64) + (0 if total is None else total)
