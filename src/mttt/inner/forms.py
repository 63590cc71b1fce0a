"""How a chunk is answered and learned. The forms compute the same; a product of parts gets the fastest that it has."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from mttt.inner.adjoint import Adjoint
from mttt.inner.carry import Carry
from mttt.inner.chunks import Chunk, Chunking
from mttt.inner.optimizer import Optimizer

Losses = Callable[[Float[Array, "b k"], PyTree[Array]], Float[Array, " b"]]


class Course(NamedTuple):
    """All that reading has to know besides the carry and the chunk."""

    losses: Losses
    optimizer: Optimizer
    chunking: Chunking
    places: Float[Array, " b"]


class Form(eqx.Module):
    """One way to go through a sequence, chunk by chunk."""

    course: eqx.AbstractVar[Course]

    size: eqx.AbstractVar[int]
    """how many tokens are taken at a time"""

    @property
    def each(self) -> bool:
        """Whether every token is a step: any number of them is complete, and one that is masked weighs 0."""
        return False

    @abc.abstractmethod
    def advance(self, carry: Carry, chunk: Chunk, kept: Any = None) -> tuple[Carry, Float[Array, "b k"], Any]:
        """The carry after the chunk, the answers to its queries, and what an adjoint may keep of the step.

        `kept` is what was kept when the same step was taken before, and may spare some of it now.
        """

    @abc.abstractmethod
    def read(self, adjoint: Adjoint, carry: Carry, chunks: Chunk) -> tuple[Carry, Float[Array, "chunks b k"]]:
        """Chunk after chunk (every array has a row a chunk): the last carry, and all answers."""


def slopes_of(losses: Losses, answers: Float[Array, "b k"], targets: PyTree[Array]) -> Float[Array, "b k"]:
    """The gradient of each row's loss by its answer."""
    return jax.grad(lambda answers: jnp.sum(losses(answers, targets)))(answers)


def counted(carry: Carry, chunk: Chunk) -> Any:
    """t after the chunk."""
    assert carry.t is not None
    return carry.t + (1 if chunk.full is None else chunk.full.astype(carry.t.dtype))


def completed(new: Carry, old: Carry, chunk: Chunk) -> Carry:
    """The carry after a chunk: the new one if the chunk is complete."""
    if (full := chunk.full) is not None:  # an optimizer may move on a gradient of zeros, too
        keep = lambda a, b: jnp.where(full, a, b) if eqx.is_array(a) else a  # noqa: E731
        new = jax.tree.map(keep, new, old)
    return Carry(new.learner, new.state, counted(old, chunk))
