"""An mttt layer inside a Flax model.

    python examples/flax_model.py

A layer of mttt is a pytree of arrays. The Flax module keeps each array that is trained in an `nnx.Param`, so Flax
counts, updates and saves them as its own. Each token is a number; the label says whether their sum is positive.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from flax import nnx

import mttt


class TTTLayer(nnx.Module):
    """MTTT-MLP, (batch, n, d) → (batch, n, d)."""

    def __init__(self, dim: int, heads: int, *, rngs: nnx.Rngs):
        layer = mttt.TTT(dim, heads, learner=mttt.MLPLearner, key=rngs.params())
        trained, rest = eqx.partition(layer, mttt.trainable(layer))
        arrays, self.structure = jax.tree.flatten(trained)
        self.arrays = nnx.List([nnx.Param(array) for array in arrays])
        self.rest = nnx.static(rest)

    def __call__(self, tokens):
        trained = jax.tree.unflatten(self.structure, [array[...] for array in self.arrays])
        layer = eqx.combine(trained, self.rest)
        return jax.vmap(lambda x: layer(x).tokens)(tokens)


class Model(nnx.Module):
    """One residual block between a Flax embedding and a Flax head."""

    def __init__(self, dim: int, *, rngs: nnx.Rngs):
        self.embed = nnx.Linear(1, dim, rngs=rngs)
        self.norm = nnx.LayerNorm(dim, rngs=rngs)
        self.mixer = TTTLayer(dim, 2, rngs=rngs)
        self.head = nnx.Linear(dim, 2, rngs=rngs)

    def __call__(self, numbers):
        tokens = self.embed(numbers[..., None])
        tokens = tokens + self.mixer(self.norm(tokens))
        return self.head(tokens.mean(axis=1))


@nnx.jit
def step(model, optimizer, numbers, labels):
    """One step of the outer loop."""

    def loss(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(numbers), labels).mean()

    value, gradient = nnx.value_and_grad(loss)(model)
    optimizer.update(model, gradient)
    return value


model = Model(16, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
count = sum(array.size for array in jax.tree.leaves(nnx.state(model.mixer, nnx.Param)))
print(f"the layer has {count} parameters in {len(model.mixer.arrays)} arrays")
for number in range(41):
    numbers = jax.random.normal(jax.random.key(number), (64, 12))
    value = step(model, optimizer, numbers, (jnp.sum(numbers, axis=1) > 0).astype(jnp.int32))
    if number % 20 == 0:
        print(f"step {number:2}: loss {value:.2f}")
