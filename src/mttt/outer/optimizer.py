"""The outer loop's optimizer: Adam with clipping, decoupled weight decay on kernels, and schedules of its rate."""

import jax.numpy as jnp
import optax

from mttt.nn import kernels


def schedule(*, peak: float, warmup: int, steps: int) -> optax.Schedule:
    """Linear from 0 to the peak, then cosine to 0 at the last step."""
    return optax.warmup_cosine_decay_schedule(0.0, peak, warmup, steps)


def constant_schedule(*, peak: float, warmup: int) -> optax.Schedule:
    """Linear from 0 to the peak, then the peak. No step's rate depends on how long the training is."""
    rising = optax.linear_schedule(0.0, peak, max(warmup, 1))
    return optax.join_schedules([rising, optax.constant_schedule(peak)], [warmup])


def outer_optimizer(
    rate: optax.Schedule,
    *,
    peak: float,
    decay: float,
    clip: float,
    b1: float = 0.9,
    b2: float = 0.999,
    bfloat16_moment: bool = False,
) -> optax.GradientTransformation:
    """`decay` is what a kernel loses in a step at the peak rate, as a fraction, and follows the schedule."""
    return optax.chain(
        optax.clip_by_global_norm(clip),
        optax.scale_by_adam(b1=b1, b2=b2, mu_dtype=jnp.bfloat16 if bfloat16_moment else None),
        # The schedule multiplies everything after it, so the decay is divided by the peak first.
        optax.add_decayed_weights(decay / peak, mask=kernels),
        optax.scale_by_learning_rate(rate),
    )
