"""One step of the outer loop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from mttt.data import Batch
from mttt.nn import trainable
from mttt.outer.loss import Score, outer_loss
from mttt.outer.mixup import rows_before
from mttt.outer.state import NEVER, State


def train_step(
    state: State,
    batch: Batch,
    *,
    optimizer: optax.GradientTransformation,
    dtype: jnp.dtype | type = jnp.float32,
    accumulate: int = 1,
    mixup: float = 0.0,
) -> State:
    """Exact gradient of ℒ_T through the inner loops, one update.

    With `accumulate` = a, the batch goes through the model in a parts, one after the other, and their gradients are
    added up: the same step in less memory. With `mixup` = α > 0, every row is mixed with the row before it.
    """
    size = batch.labels.shape[0]
    if size % accumulate:
        raise ValueError(f"accumulate={accumulate} does not divide a batch of {size}")
    params, rest = eqx.partition(state.model, trainable(state.model))
    key = jax.random.fold_in(state.key, state.step)

    images = jnp.maximum(jnp.sum(jnp.asarray(batch.weights)), 1)  # a batch may be all fillers
    partners = rows_before(batch) if mixup else None

    def gradient(part: tuple[Batch, Batch | None]):
        own, others = part

        def loss(params):
            model = eqx.combine(params, rest)
            return outer_loss(model, own, dtype=dtype, partners=others, mixup=mixup, images=images, key=key)

        (_, scored), grads = jax.value_and_grad(loss, has_aux=True)(params)
        return grads, scored

    if accumulate == 1:
        grads, scored = gradient((batch, partners))
    else:
        parts = jax.tree.map(lambda a: a.reshape(accumulate, size // accumulate, *a.shape[1:]), (batch, partners))
        shapes = jax.eval_shape(gradient, jax.tree.map(lambda a: a[0], parts))
        nothing = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)
        add = lambda total, part: (jax.tree.map(jnp.add, total, gradient(part)), None)  # noqa: E731
        (grads, scored), _ = jax.lax.scan(add, nothing, parts)

    updates, optimizer_state = optimizer.update(grads, state.optimizer_state, params)
    params = optax.apply_updates(params, updates)
    # The new parameters too: a step can be too large for the next one to be noticed in time.
    ok = jnp.isfinite(scored.loss) & jnp.isfinite(optax.tree.norm(grads)) & jnp.isfinite(optax.tree.norm(params))
    broken = jnp.where((state.broken == NEVER) & ~ok, state.step + 1, state.broken)
    totals = Score(*map(jnp.add, state.totals, scored))
    return eqx.tree_at(
        lambda s: (s.model, s.optimizer_state, s.step, s.totals, s.broken),
        state,
        (eqx.combine(params, rest), optimizer_state, state.step + 1, totals, broken),
    )
