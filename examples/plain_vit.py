"""A plain vision transformer from Equinox's own layers: what `--model.mixer self-attention` should match.

A plain training loop; only the images and the fixed positions come from mttt. Usage:

    python examples/plain_vit.py                                   # a few steps on the digits, for a try
    python examples/plain_vit.py fashion-patches                   # the model, steps, batches and rate of that preset
    python examples/plain_vit.py cifar10-patches cifar-10-binary.tar.gz
"""

import dataclasses
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from mttt.data import EvaluationBatches, training_batches
from mttt.models import MICRO_M
from mttt.models.embed import SinCosPositions
from mttt.recipes import PRESETS


class PlainBlock(eqx.Module):
    """Pre-LN attention and MLP."""

    norms: tuple[eqx.nn.LayerNorm, eqx.nn.LayerNorm]
    attention: eqx.nn.MultiheadAttention
    mlp: eqx.nn.MLP

    def __init__(self, dim, heads, *, key):
        a, b = jax.random.split(key)
        self.norms = (eqx.nn.LayerNorm(dim), eqx.nn.LayerNorm(dim))
        self.attention = eqx.nn.MultiheadAttention(heads, dim, use_query_bias=True, use_output_bias=True, key=a)
        self.mlp = eqx.nn.MLP(dim, dim, 4 * dim, 1, jax.nn.gelu, key=b)

    def __call__(self, x):
        y = jax.vmap(self.norms[0])(x)
        x = x + self.attention(y, y, y)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norms[1])(x))


class PlainViT(eqx.Module):
    """Patches, fixed positions, blocks, mean over tokens."""

    embed: eqx.nn.Conv2d
    positions: np.ndarray
    blocks: list[PlainBlock]
    norm: eqx.nn.LayerNorm
    head: eqx.nn.Linear

    def __init__(self, shape, classes, patch, *, key):
        dim, depth, heads = MICRO_M
        keys = jax.random.split(key, depth + 2)
        self.embed = eqx.nn.Conv2d(shape[2], dim, patch, patch, key=keys[0])
        self.positions = np.asarray(SinCosPositions(shape[0] // patch, shape[1] // patch, dim, key=keys[0])())
        self.blocks = [PlainBlock(dim, heads, key=key) for key in keys[2:]]
        self.norm, self.head = eqx.nn.LayerNorm(dim), eqx.nn.Linear(dim, classes, key=keys[1])

    def __call__(self, image):
        x = self.embed(jnp.moveaxis(image, 2, 0))
        x = x.reshape(x.shape[0], -1).T + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(jnp.mean(jax.vmap(self.norm)(x), axis=0))


def main(preset="digits", path=None):
    """Train and test."""
    recipe = PRESETS[preset].recipe
    data = (recipe.data if path is None else dataclasses.replace(recipe.data, path=path)).load()
    steps = recipe.plan(len(data.train)).steps if preset != "digits" else 30
    patch = getattr(recipe.model, "patch", 1) if preset != "digits" else 2
    model = PlainViT(data.spec.inputs.shape, len(data.classes), patch, key=jax.random.key(0))
    rate = optax.warmup_cosine_decay_schedule(0.0, recipe.optimizer.rate, round(0.1 * steps), steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.1))
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    def logits(model, images):
        return jax.vmap(model)(images.astype(jnp.float32) / 127.5 - 1)

    @eqx.filter_jit
    def step(model, state, batch):
        def loss(model):
            return optax.softmax_cross_entropy_with_integer_labels(logits(model, batch.inputs), batch.labels).mean()

        value, grads = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), state, value

    batches = training_batches(data.train, recipe.batch_size, seed=0)
    for number in range(1, steps + 1):
        model, state, value = step(model, state, next(batches))
        if number % 100 == 0 or number == steps:
            print(f"step {number}/{steps}  loss {value:.4f}", flush=True)
    classify = eqx.filter_jit(lambda model, batch: jnp.argmax(logits(model, batch.inputs), axis=1))
    right = sum(
        float(np.sum((np.asarray(classify(model, batch)) == batch.labels) * batch.weights))
        for batch in EvaluationBatches(data.evaluation, 500)
    )
    print(f"plain ViT: accuracy {right / len(data.evaluation):.2%} on {len(data.evaluation)} test images")


if __name__ == "__main__":
    main(*sys.argv[1:])
