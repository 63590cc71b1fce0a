"""An mttt layer in a training loop of plain JAX and Optax.

    python examples/plain_jax_loop.py [--figure FILE]

The parameters are a dict of arrays; `jax.grad` and `optax` see nothing else. From Equinox there is only
`eqx.partition`, which takes the layer apart into the arrays that are trained and the rest. The model reads a digit row
by row: 8 tokens of 8 pixels.
"""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import mttt
from mttt.data.pictures import load_digits

STEPS, BATCH, DIM = 150, 64, 32
digits = load_digits()
keys = jax.random.split(jax.random.key(0), 3)
layer = mttt.TTT(DIM, 2, learner=mttt.MLPLearner, key=keys[0])
trained, rest = eqx.partition(layer, mttt.trainable(layer))
parameters = {
    "embed": jax.random.normal(keys[1], (8, DIM)) * 8**-0.5,
    "positions": jax.random.normal(keys[2], (8, DIM)) * 0.1,
    "layer": trained,
    "head": jnp.zeros((8 * DIM, 10)),
}


def apply(parameters, image):
    """Logits of one picture, and the inner losses of the layer, (heads, T + 1)."""
    tokens = image @ parameters["embed"] + parameters["positions"]
    mixed = eqx.combine(parameters["layer"], rest)(tokens, trace=True)
    return jnp.ravel(tokens + mixed.tokens) @ parameters["head"], mixed.losses


def loss(parameters, images, labels):
    """What the outer loop minimises, and the mean inner loss at t = 0 and t = 1."""
    logits, inner = jax.vmap(apply, in_axes=(None, 0))(parameters, images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), inner.mean(axis=(0, 1))


@jax.jit
def step(parameters, state, images, labels):
    """One step of the outer loop; the gradient goes through the inner step."""
    (value, inner), gradient = jax.value_and_grad(loss, has_aux=True)(parameters, images, labels)
    updates, state = optimizer.update(gradient, state, parameters)
    return optax.apply_updates(parameters, updates), state, value, inner


def pictures(source, rows):
    """Pictures (count, 8, 8) with values in [−1, 1], and their labels."""
    return source.images[rows, :, :, 0].astype(np.float32) / 127.5 - 1, source.labels[rows]


optimizer = optax.adam(3e-3)
state = optimizer.init(parameters)
rng = np.random.default_rng(0)
curves = []
for number in range(1, STEPS + 1):
    images, labels = pictures(digits.train, rng.choice(len(digits.train), BATCH, replace=False))
    parameters, state, value, inner = step(parameters, state, images, labels)
    curves.append((float(value), *map(float, inner)))
    if number in (1, 50, 100, 150):
        print(
            f"step {number:3}: loss {value:.2f}, inner loss {inner[0]:.2f} before the inner step, {inner[1]:.2f} after"
        )

images, labels = pictures(digits.evaluation, np.arange(len(digits.evaluation)))
logits, _ = jax.jit(jax.vmap(apply, in_axes=(None, 0)))(parameters, images)
right = float(jnp.mean(jnp.argmax(logits, axis=1) == labels))
print(f"test accuracy: {right:.0%}")

if "--figure" in sys.argv:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    outer, before, after = np.array(curves).T
    axes[0].plot(outer)
    axes[0].set(xlabel="outer step", ylabel="cross entropy", title="outer loop")
    axes[1].plot(before, label="t = 0")
    axes[1].plot(after, label="t = 1")
    axes[1].set(xlabel="outer step", ylabel="inner loss", title="inner loop")
    axes[1].legend()
    figure.savefig(sys.argv[sys.argv.index("--figure") + 1])
