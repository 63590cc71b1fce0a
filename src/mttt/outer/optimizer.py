"""The outer loop's optimizer: Adam with clipping, decoupled weight decay on kernels, warm-up and cosine."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import PyTree


def kernels(tree: PyTree) -> PyTree:
    """Which leaves are kernels: arrays called `weight`, Equinox's word for them. W₀'s kernels are among them.

    Biases, scales, shifts, positions and rates have other names, and do not decay.
    """

    def is_kernel(path, _):
        last = path[-1]  # a field of a module, or a key of a dictionary
        return "weight" in (getattr(last, "name", None), getattr(last, "key", None))

    return jax.tree_util.tree_map_with_path(is_kernel, tree)


def schedule(*, peak: float, warmup: int, steps: int) -> optax.Schedule:
    """Linear from 0 to the peak, then cosine to 0 at the last step."""
    return optax.warmup_cosine_decay_schedule(0.0, peak, warmup, steps)


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
