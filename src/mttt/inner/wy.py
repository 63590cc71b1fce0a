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
from mttt.nn.products import gram
from mttt.nn.triangle import solve_unit_lower

BLOCK = 64


class BlockStep(NamedTuple):
    """What a block of tokens does to W, whatever W is: U = solved − taken W, then W ← scale W + keysᵀU."""

    solved: Float[Array, "*blocks b k"]  # (I + …)⁻¹βV
    taken: Float[Array, "*blocks b k"]  # (I + …)⁻¹βγK
    keys: Float[Array, "*blocks b k"]  # γ_b/γ ⊙ K
    scale: Float[Array, "*blocks"] | None  # γ_b; None is 1


class SolvedBlock(NamedTuple):
    """A block of tokens: what it teaches, and what it asks."""

    step: BlockStep
    queries: Float[Array, "*blocks b k"]  # γQ
    asked: Float[Array, "*blocks b b"]  # tril(QKᵀ)


Passed = tuple[Float[Array, "k k"], Float[Array, "blocks k k"], Float[Array, "blocks b k"]]


def _scaled(scale: Array | None, weight: Float[Array, "k k"]) -> Float[Array, "k k"]:
    return weight if scale is None else scale * weight


@jax.custom_vjp
def _pass(weight: Float[Array, "k k"], blocks: BlockStep) -> Passed:
    """From block to block: the last W, W before each block, and each block's U.

    The backward pass is written out, because automatic differentiation puts the gradients by `taken` and `keys` into
    the loop. Only the gradients by W and U have to be there; the others are two products of all blocks at once.
    """

    def step(weight: Array, block: BlockStep) -> tuple[Array, tuple[Array, Array]]:
        updates = block.solved - block.taken @ weight
        return _scaled(block.scale, weight) + block.keys.T @ updates, (weight, updates)

    last, (before, updates) = jax.lax.scan(step, weight, blocks)
    return last, before, updates


def _pass_forward(weight: Float[Array, "k k"], blocks: BlockStep) -> tuple[Passed, Any]:
    passed = _pass(weight, blocks)
    return passed, (blocks, *passed[1:])


def _pass_backward(kept: Any, cotangents: Passed) -> tuple[Float[Array, "k k"], BlockStep]:
    blocks, before, updates = kept

    def step(after: Array, given: Any) -> tuple[Array, tuple[Array, Array]]:
        block, by_before, by_updates = given
        by_updates = by_updates + block.keys @ after
        return _scaled(block.scale, after) - block.taken.T @ by_updates + by_before, (after, by_updates)

    by_last, *by_each = cotangents
    first, (after, by_updates) = jax.lax.scan(step, by_last, (blocks, *by_each), reverse=True)
    by_taken, by_keys = -(by_updates @ before.mT), updates @ after.mT
    by_scale = None if blocks.scale is None else jnp.sum(before * after, axis=(1, 2))
    return first, BlockStep(by_updates, by_taken, by_keys, by_scale)


_pass.defvjp(_pass_forward, _pass_backward)


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
        weight, before, updates = _pass(learner.weight.astype(chunks.inputs.dtype), blocks.step)
        answers = blocks.queries @ before + blocks.asked @ updates
        new = eqx.tree_at(lambda learner: learner.weight, learner, weight.astype(learner.weight.dtype))
        return Carry(new, carry.state, carry.t), answers

    def _block(self, chunk: Chunk) -> SolvedBlock:
        optimizer, keys, queries = self.course.optimizer, chunk.inputs, chunk.queries
        assert isinstance(optimizer, GradientDescent)
        beta = chunk.eta * self.course.places[0] * jnp.asarray(optimizer.rate_at(0), chunk.eta.dtype)
        alike, asked = gram(keys), jnp.tril(queries @ keys.T)
        taken, left, scale = keys, keys, None
        if (decay := chunk.decay()) is not None:
            gamma, ratios = decay
            alike, asked = alike * ratios, asked * ratios
            taken, queries, left = gamma[:, None] * keys, gamma[:, None] * queries, ratios[-1][:, None] * keys
            scale = gamma[-1]
        rights = (beta[:, None] * chunk.targets, beta[:, None] * taken)
        solved, taken = solve_unit_lower(beta[:, None] * alike, rights)
        return SolvedBlock(BlockStep(solved, taken, left, scale), queries, asked)
