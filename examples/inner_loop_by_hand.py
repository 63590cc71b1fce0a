"""The inner loop by hand, next to the library's answer.

    python examples/inner_loop_by_hand.py

One head of MTTT-MLP on one input, in plain JAX: the self-supervised loss (eq. 1 of the paper), T gradient steps on the
learner's weights (eq. 2), and the output (eq. 3). Then the same with `mttt`.
"""

import jax
import jax.numpy as jnp

import mttt

n, d, k, T, eta = 16, 24, 8, 3, 1.0
keys = jax.random.split(jax.random.key(0), 4)
tokens = jax.random.normal(keys[0], (n, d))
task = mttt.Reconstruction(d, k, key=keys[1])
learner = mttt.MLPLearner(k, key=keys[2])

# What the outer loop has learned, and the inner loop takes as given: φ, g, Decoder LN and W₀.
phi, g, g_bias, norm = task.phi, task.g.weight, task.g.bias.value, task.decoder_norm
assert norm is not None
eps, gamma, beta = norm.eps, norm.scale, norm.shift
W = {"A1": learner.up.weight, "b1": learner.up.bias, "A2": learner.down.weight, "b2": learner.down.bias}


def f(x, W):
    """The learner: a small neural network."""
    hidden = jax.nn.gelu(x @ W["A1"] + W["b1"], approximate=True)
    return hidden @ W["A2"].T + W["b2"]


def layer_norm(y):
    """Decoder LN."""
    centred = y - y.mean(axis=1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * gamma + beta


def loss(W):
    """Reconstruct every token from φ(token); normalised by n · k as in the paper's release."""
    reconstruction = layer_norm(f(tokens @ phi.weight + phi.bias, W) @ g + g_bias)
    return 0.5 * jnp.sum((reconstruction - tokens) ** 2) / (n * k)


losses = [loss(W)]
for _ in range(T):
    gradient = jax.grad(loss)(W)
    W = {name: W[name] - eta * gradient[name] for name in W}
    losses.append(loss(W))
by_hand = f(tokens[:, :k], W)

start = mttt.Trained(learner)
learned = mttt.inner_loop(start, task, mttt.GradientDescent(eta), mttt.FullBatch(T), tokens, losses=True)
by_library = learned.carry.learner(tokens[:, :k])
assert learned.losses is not None

print("losses by hand:   ", " ".join(f"{x:.5f}" for x in losses))
print("losses by library:", " ".join(f"{x:.5f}" for x in learned.losses))
print(f"largest difference of the outputs: {jnp.max(jnp.abs(by_hand - by_library)):.1e}")
