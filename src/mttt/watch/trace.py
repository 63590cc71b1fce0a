"""One picture on its way through a model: what every layer and head learns of it, and what each step changes."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from mttt.inner import FullBatch, GradientDescent, Memory
from mttt.mixers import TTT, with_inner_loop
from mttt.models import Block, ViT
from mttt.nn.roles import Constant

_ROOMS = (4, 8, 16)
"""numbers of steps that programs are compiled for"""


class Learning(NamedTuple):
    """What the layers do, each on the tokens that the layers below give it after all of their steps."""

    tokens: Float[Array, "depth n d"]
    """what comes into each mixer"""
    losses: Float[Array, "depth heads T+1 n"]
    """of every token at every W_t, in the unit that is reported"""
    distance: Float[Array, "depth heads T+1"]
    """‖W_t − W₀‖ over all arrays of W"""


class Look(NamedTuple):
    """The probabilities of the classes after t = 0 … T steps in every layer; what is learned, if anything is."""

    probabilities: Float[Array, "T+1 classes"]
    learning: Learning | None


def learning_mixer(model: ViT) -> TTT | None:
    """The stacked mixers of a model that takes inner steps; None for one that does not."""
    mixer: Any = model.stack.blocks.mixer
    return mixer if isinstance(mixer, TTT) and not isinstance(mixer.start, Memory) else None


def fixed_rate(model: ViT) -> float | None:
    """η, if it is one number that was chosen; a learned one, or that of another rule, is not to be turned."""
    mixer = learning_mixer(model)
    optimizer = None if mixer is None else mixer.optimizer
    if isinstance(optimizer, GradientDescent) and isinstance(optimizer.rate, Constant):
        return float(optimizer.rate.value)
    return None


def changed(model: ViT, steps: int, rate: float | None) -> ViT:
    """The model with room for T steps, and another η if one is given. η is an array then: no value is compiled in.

    Steps on all tokens are the same however many follow, so there may be more of them than are looked at, and a few
    programs serve every T. Mini-batches are split for one T.
    """
    mixer = learning_mixer(model)
    if mixer is not None and isinstance(mixer.batching, FullBatch):
        steps = next(room for room in (*_ROOMS, steps) if room >= steps)
    optimizer = None if rate is None else GradientDescent(jnp.asarray(rate, jnp.float32))
    return with_inner_loop(model, steps=steps, optimizer=optimizer)


@eqx.filter_jit
def look(model: ViT, image: Float[Array, "h w c"], steps: Int[Array, ""]) -> Look:
    """All of it in one program, for the first `steps` that the model has room for; what is beyond means nothing."""
    mixer = learning_mixer(model)
    if mixer is None:
        return Look(jax.nn.softmax(model(image))[None], None)
    tokens = model.tokens(image)

    def until(t: Any) -> tuple[Array, Learning]:
        """The whole model, stopped after t steps in every layer."""
        last, learning = model.stack.through(lambda block, tokens, _: _block(block, tokens, t), tokens)
        return jax.nn.softmax(model.logits(last)), learning

    def one(kept: Learning, t: Any) -> tuple[Learning, Array]:
        probabilities, learning = until(t)
        return jax.tree.map(lambda new, old: jnp.where(t == steps, new, old), learning, kept), probabilities

    # One after the other: only one of them has to fit the memory, and it is compiled once.
    shapes = jax.eval_shape(lambda: until(0)[1])
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    learning, probabilities = jax.lax.scan(one, nothing, jnp.arange(mixer.batching.steps + 1))
    return Look(probabilities, learning)


def _block(block: Block, tokens: Float[Array, "n d"], t: Any) -> tuple[Float[Array, "n d"], Learning]:
    """A block whose mixer answers with W_t, and all that its mixer learned."""
    mixer: Any = block.mixer
    normed = block.mixer_norm(tokens)
    way = mixer.trajectory(normed)
    learners = jax.tree.map(lambda leaf: leaf[:, t] if eqx.is_array(leaf) else leaf, way.carries.learner)
    after = block.second_half(tokens + mixer.answer(learners, normed))
    return after, Learning(normed, mixer.report(way.losses), distance(way.carries.weights))


def distance(weights: Any) -> Float[Array, "heads times"]:
    """‖W_t − W₀‖ of weights with axes of heads and t."""
    squares = [jnp.sum((leaf - leaf[:, :1]) ** 2, axis=tuple(range(2, leaf.ndim))) for leaf in jax.tree.leaves(weights)]
    return jnp.sqrt(sum(squares))
