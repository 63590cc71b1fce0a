"""Your own learner: any Equinox module that maps (n, k) to (n, k).

    python examples/own_learner.py

A gated learner, trained by the inner loop with momentum (through Optax) on mini-batches of tokens. The outer loop gets
exact gradients for all of it, W₀ included.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import mttt


class GatedLearner(eqx.Module):
    """f(x) = A(x) ⊙ sigmoid(B(x))"""

    value: eqx.nn.Linear
    gate: eqx.nn.Linear

    def __init__(self, width: int, *, key):
        value_key, gate_key = jax.random.split(key)
        self.value = eqx.nn.Linear(width, width, key=value_key)
        self.gate = eqx.nn.Linear(width, width, key=gate_key)

    def __call__(self, inputs, *, key=None):
        return jax.vmap(self.value)(inputs) * jax.nn.sigmoid(jax.vmap(self.gate)(inputs))


layer = mttt.TTT(
    dim=48,
    heads=4,
    learner=GatedLearner,
    optimizer=mttt.OptaxOptimizer(optax.sgd, learning_rate=0.5, momentum=0.9),
    batching=mttt.MiniBatches(4),
    key=jax.random.key(0),
)
tokens = jax.random.normal(jax.random.key(1), (4, 100, 48))  # four inputs of 100 tokens


@eqx.filter_jit
def outer_gradient(layer, tokens):
    """The outer loop's part: the gradient of some loss through the inner loops."""

    def loss(layer):
        return jnp.mean(jax.vmap(lambda x: layer(x).tokens)(tokens) ** 2)

    return eqx.filter_grad(loss)(layer)


mixed = eqx.filter_jit(lambda layer, x: layer(x, trace=True))(layer, tokens[0])
assert mixed.losses is not None
print("output:", mixed.tokens.shape)
print("inner losses of the first head, t = 0 … 4:", " ".join(f"{x:.4f}" for x in mixed.losses[0]))
gradient = outer_gradient(layer, tokens)
print(f"outer gradient of W₀: {jnp.linalg.norm(gradient.start.learner.value.weight):.2e}")
