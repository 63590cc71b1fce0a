"""What the inner loss does when the inner rate η is too large, and how to see it.

    python examples/inner_rate.py [--figure FILE]

The same layer (linear learner, eight steps) on the same input, with several rates. `trace=True` asks a layer for its
inner losses at t = 0 … T.
"""

import sys
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import mttt

RATES = (1.0, 2.0, 5.0, 1e6)
task = partial(mttt.Reconstruction, decoder_norm=False)
layer = mttt.TTT(32, 2, learner=mttt.LinearLearner, task=task, batching=mttt.FullBatch(8), key=jax.random.key(0))
tokens = jax.random.normal(jax.random.key(1), (64, 32))


@eqx.filter_jit
def inner_losses(rate):
    """Mean over the heads, (T + 1,)."""
    other = mttt.with_inner_loop(layer, optimizer=mttt.GradientDescent(rate))
    losses = other(tokens, trace=True).losses
    assert losses is not None
    return losses.mean(axis=0)


curves = {rate: np.asarray(inner_losses(jnp.asarray(rate))) for rate in RATES}
for rate, losses in curves.items():
    print(f"η = {rate:g}:", " ".join(f"{x:.3g}" if np.isfinite(x) else "(not finite)" for x in losses))

if "--figure" in sys.argv:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3), layout="constrained")
    for rate, losses in list(curves.items())[:-1]:
        axes.plot(losses, marker=".", label=f"η = {rate:g}")
    axes.set(xlabel="t", ylabel="inner loss", ylim=(0.3, 1.2))
    axes.legend()
    figure.savefig(sys.argv[sys.argv.index("--figure") + 1])
