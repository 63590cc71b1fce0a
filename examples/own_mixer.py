"""Your own mixer in the ViT, beside TTT and attention.

    python examples/own_mixer.py

A mixer is a module (n, d) → (n, d). This one averages over all tokens, the simplest way to mix them.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp

import mttt


class MeanMixer(mttt.Mixer):
    """Each token gets a linear map of the mean of all."""

    weight: jax.Array

    def __init__(self, dim: int, heads: int, *, key):
        del heads
        self.weight = jax.random.normal(key, (dim, dim)) * dim**-0.5

    def mix(self, tokens, *, mask, key, trace):
        mean = mttt.mean_of_real(tokens, mask)
        return mttt.Mixed(jnp.broadcast_to(mean @ self.weight, tokens.shape))


image = jax.random.uniform(jax.random.key(1), (32, 32, 3), minval=-1, maxval=1)
mixers = {
    "mean": MeanMixer,
    "self-attention": mttt.SelfAttention,
    "MTTT-MLP": partial(mttt.TTT, learner=mttt.MLPLearner),
}
for name, mixer in mixers.items():
    model = mttt.ViT((32, 32, 3), classes=10, size=mttt.MICRO_S, patch=4, mixer=mixer, key=jax.random.key(0))
    logits = eqx.filter_jit(model)(image)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
    print(f"{name:15} {parameters:7} parameters, logits {logits.shape}")
