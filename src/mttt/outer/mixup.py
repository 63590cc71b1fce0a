"""Mixup (Zhang et al., 2018): training on blends of two inputs and of their labels."""

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.outer.classification import Classification, Labelled, score
from mttt.outer.objective import Judged, Objective, Score

T = TypeVar("T")


def rows_before(batch: T) -> T:
    """The partner of every row: the one before it, and for the first the last."""
    return jax.tree.map(lambda rows: jnp.roll(rows, 1, axis=0), batch)


def partner_shares(partners: Float[Array, " b"], *, alpha: float, key: PRNGKeyArray) -> Float[Array, " b"]:
    """1 − λ: how much of each row comes from its partner; `partners` are the partners' weights.

    As in the recipe of Beyer et al. (2022), one λ ~ Beta(α, α) serves the whole batch, and the larger of λ and 1 − λ is
    the row's own: its own label remains the likeliest. A row whose partner has weight 0, a filler, stays as it is.
    """
    drawn = jax.random.beta(key, alpha, alpha, dtype=jnp.float32)
    return jnp.minimum(drawn, 1 - drawn) * (partners > 0).astype(jnp.float32)


def blend(rows: Float[Array, "b *rest"], partners: Float[Array, "b *rest"], shares: Float[Array, " b"]) -> Array:
    """λ·(each row) + (1 − λ)·(its partner)."""
    part = shares.reshape(-1, *[1] * (rows.ndim - 1)).astype(rows.dtype)
    return (1 - part) * rows + part * partners


class Paired(NamedTuple):
    """Every row, its partner as it is stored, and how much of the partner is in it."""

    own: Any
    partners: Any
    shares: Float[Array, " b"]


class Mixup(Objective):
    """Classification of blends. Accuracy still counts each row's own label, and evaluation blends nothing."""

    plain: Classification
    alpha: float

    def __init__(self, plain: Classification, alpha: float):
        """`alpha` is α of the Beta distribution that the shares are drawn from."""
        if not alpha > 0:
            raise ValueError(f"mixup={alpha}: α of the Beta distribution is above 0")
        self.plain, self.alpha = plain, alpha

    def prepare(self, batch: Labelled, *, key: PRNGKeyArray) -> Paired:
        """Pair each row with the row before it, and draw the shares."""
        partners = rows_before(batch)
        _, mixup_key = jax.random.split(key)
        return Paired(batch, partners, partner_shares(jnp.asarray(partners.weights), alpha=self.alpha, key=mixup_key))

    def count(self, rows: Paired) -> Float[Array, ""]:
        """The sum of the weights of the rows themselves."""
        return self.plain.count(rows.own)

    def __call__(self, model: Any, rows: Paired, *, key: PRNGKeyArray | None) -> Score:
        """Blend, and score the model's logits against blended labels."""
        own, partners, shares = rows
        model_key = None if key is None else jax.random.split(key)[0]  # the other half drew the shares
        inputs = jax.tree.map(lambda a, b: blend(a, b, shares), *map(self.plain.read, (own.inputs, partners.inputs)))
        logits = jax.vmap(lambda row: model(row, key=model_key))(inputs)
        one_hot = lambda labels: jax.nn.one_hot(jnp.asarray(labels), logits.shape[1])  # noqa: E731
        targets = blend(one_hot(own.labels), one_hot(partners.labels), shares)
        return score(logits, jnp.asarray(own.labels), jnp.asarray(own.weights), targets)

    def measure(self, model: Any, batch: Labelled) -> Judged:
        """As classification does."""
        return self.plain.measure(model, batch)
