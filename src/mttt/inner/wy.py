"""The WY form: steps on single tokens, exactly, for many tokens at once.

For the linear learner and the squared error, token i's step is W ← α_i W + k_iᵀu_i with u_i = β_i(v_i − k_i α_i W). The
u_i of a block solve one triangular system (γ_i = α_1 ⋯ α_i, and everything below the diagonal of KKᵀ is multiplied by
γ_i/γ_j):

    (I + tril(β KKᵀ, −1)) U = β(V − γKW)        answers  γQW + tril(QKᵀ)U        W ← γ_b W + (γ_b/γ ⊙ K)ᵀU

This is the delta rule of DeltaNet and Gated DeltaNet (Yang et al., 2024) at the cost of linear attention in chunks.
"""

from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mttt.inner.adjoint import Adjoint, Keep
from mttt.inner.carry import Carry
from mttt.inner.chunks import Chunk
from mttt.inner.forms import Course, Form
from mttt.inner.linear import LinearLearner
from mttt.inner.optimizer import GradientDescent
from mttt.nn.triangle import unit_lower_inverse

BLOCK = 64


class Solved(NamedTuple):
    """What a block of tokens brings, whatever W is."""

    solved: Float[Array, "b k"]  # (I + …)⁻¹βV
    taken: Float[Array, "b k"]  # (I + …)⁻¹βγK
    queries: Float[Array, "b k"]  # γQ
    asked: Float[Array, "b b"]  # tril(QKᵀ)
    keys: Float[Array, "b k"]  # γ_b/γ ⊙ K
    scale: Float[Array, ""]  # γ_b


@final
class WY(Form):
    """Blocks of tokens, each token a step of its own. Only what depends on W is in a loop, and W before each block is
    kept: that is as much as the tokens take. So there is nothing for an adjoint to do."""

    course: Course
    size: int = eqx.field(default=BLOCK, static=True)

    @property
    def each(self) -> bool:
        return True

    def advance(self, carry: Carry, chunk: Chunk, kept: Any = None) -> tuple[Carry, Float[Array, "b k"], None]:
        carry, answers = self.read(Keep(), carry, jax.tree.map(lambda a: a[None], chunk))
        return carry, answers[0], None

    def read(self, adjoint: Adjoint, carry: Carry, chunks: Chunk) -> tuple[Carry, Float[Array, "chunks b k"]]:
        learner = carry.learner
        assert isinstance(learner, LinearLearner)
        blocks = jax.vmap(self._block)(chunks)

        def step(weight: Array, block: Solved) -> tuple[Array, tuple[Array, Array]]:
            updates = block.solved - block.taken @ weight
            return block.scale * weight + block.keys.T @ updates, (weight, updates)

        weight = learner.weight.astype(chunks.inputs.dtype)
        weight, (before, updates) = jax.lax.scan(step, weight, blocks)
        answers = blocks.queries @ before + blocks.asked @ updates
        new = eqx.tree_at(lambda learner: learner.weight, learner, weight.astype(learner.weight.dtype))
        return Carry(new, carry.state, carry.t), answers

    def _block(self, chunk: Chunk) -> Solved:
        optimizer, keys, queries = self.course.optimizer, chunk.inputs, chunk.queries
        assert isinstance(optimizer, GradientDescent)
        beta = chunk.eta * self.course.places[0] * jnp.asarray(optimizer.rate_at(0), chunk.eta.dtype)
        alike, asked = keys @ keys.T, jnp.tril(queries @ keys.T)
        taken, left, scale = keys, keys, jnp.ones((), keys.dtype)
        if (decay := chunk.decay()) is not None:
            gamma, ratios = decay
            alike, asked = alike * ratios, asked * ratios
            taken, queries, left = gamma[:, None] * keys, gamma[:, None] * queries, ratios[-1][:, None] * keys
            scale = gamma[-1]
        both = beta[:, None] * jnp.concatenate([chunk.targets, taken], axis=1)
        solved = unit_lower_inverse(beta[:, None] * alike) @ both
        k = keys.shape[1]
        return Solved(solved[:, :k], solved[:, k:], queries, asked, left, scale)
