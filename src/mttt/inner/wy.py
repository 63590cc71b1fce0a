"""The WY form: steps on single tokens, exactly, for many tokens at once.

For the linear learner and the squared error, token i's step is W ← α_i W + k_iᵀu_i with u_i = β_i(v_i − k_i α_i W). The
u_i of a block solve one triangular system (γ_i = α_1 ⋯ α_i, and everything below the diagonal of KKᵀ is multiplied by
γ_i/γ_j):

    (I + tril(β KKᵀ, −1)) U = β(V − γKW)        answers  γQW + tril(QKᵀ)U        W ← γ_b W + (γ_b/γ ⊙ K)ᵀU

This is the delta rule of DeltaNet and Gated DeltaNet (Yang et al., 2024) at the cost of linear attention in chunks.
"""

from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from mttt.inner.carry import Carry
from mttt.inner.chunks import Chunk
from mttt.inner.forms import Course, Form
from mttt.inner.linear import LinearLearner
from mttt.inner.optimizer import GradientDescent
from mttt.nn.triangle import unit_lower_inverse

BLOCK = 64


@final
class WY(Form):
    """Blocks of tokens, each token a step of its own."""

    course: Course
    size: int = eqx.field(default=BLOCK, static=True)
    undoes: bool = eqx.field(default=False, static=True)

    def advance(self, carry: Carry, chunk: Chunk) -> tuple[Carry, Float[Array, "b k"], None]:
        learner, optimizer = carry.learner, self.course.optimizer
        assert isinstance(learner, LinearLearner) and isinstance(optimizer, GradientDescent)
        weight, keys, queries = learner.weight.astype(chunk.inputs.dtype), chunk.inputs, chunk.queries
        beta = chunk.eta * self.course.places[0] * optimizer.rate_at(0)
        alike, asked = keys @ keys.T, jnp.tril(queries @ keys.T)
        before, answers = keys @ weight, queries @ weight
        scale, left = jnp.ones((), weight.dtype), jnp.ones_like(beta)
        if (decay := chunk.decay()) is not None:
            gamma, ratios = decay
            alike, asked = alike * ratios, asked * ratios
            before, answers = gamma[:, None] * before, gamma[:, None] * answers
            scale, left = gamma[-1], ratios[-1]
        solve = unit_lower_inverse(beta[:, None] * alike)
        updates = solve @ (beta[:, None] * (chunk.targets - before))
        answers = answers + asked @ updates
        weight = scale * weight + (left[:, None] * keys).T @ updates
        new = eqx.tree_at(lambda learner: learner.weight, learner, weight.astype(learner.weight.dtype))
        return Carry(new, carry.state, carry.t), answers, None
