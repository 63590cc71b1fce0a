"""Your own task: what the inner loop learns.

    python examples/own_task.py

The paper's task is to reconstruct each token from a view of it. Here the learner has to predict the *next* token's view
instead. The task sees all tokens of the input at once, so it is a `Task`, and no `TokenwiseTask`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

import mttt


class NextView(mttt.Task):
    """ℓ of token i: ½‖f(φ(x_i); W) − θ(x_{i+1})‖² / k. The last token has no next one, and gets weight 0."""

    phi: jax.Array
    theta: jax.Array

    def __init__(self, dim: int, width: int, *, key):
        self.phi, self.theta = jax.random.normal(key, (2, dim, width)) * dim**-0.5

    def __call__(self, tokens):
        def losses(answers, targets):
            return 0.5 * jnp.mean((answers - targets) ** 2, axis=1)

        weights = jnp.ones(len(tokens)).at[-1].set(0)
        targets = jnp.roll(tokens @ self.theta, -1, axis=0)
        return mttt.Problem(tokens @ self.phi, targets, losses, weights=weights)

    def report(self, losses):
        return losses


layer = mttt.TTT(
    dim=32,
    heads=2,
    learner=mttt.MLPLearner,
    task=NextView,
    optimizer=mttt.GradientDescent(0.5),
    batching=mttt.FullBatch(4),
    key=jax.random.key(0),
)
angles = jnp.arange(60)[:, None] * jnp.linspace(0.1, 1.0, 16)
tokens = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1)  # one input: 60 tokens, each follows from the last
mixed = eqx.filter_jit(layer)(tokens, trace=True)
assert mixed.losses is not None
for head, losses in enumerate(mixed.losses):
    print(f"head {head}: inner losses at t = 0 … 4:", " ".join(f"{x:.3f}" for x in losses))


@eqx.filter_jit
@eqx.filter_grad
def outer_gradient(layer):
    """The outer loop learns φ and θ: through the inner steps."""
    return jnp.mean(layer(tokens).tokens ** 2)


print(f"outer gradient of θ: {jnp.linalg.norm(outer_gradient(layer).task.theta):.1e}")
