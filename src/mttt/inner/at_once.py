"""One gradient for a whole chunk, whose tokens answer before any of them is learned."""

from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mttt.inner.adjoint import Adjoint
from mttt.inner.carry import Carry
from mttt.inner.chunks import Chunk
from mttt.inner.forms import Course, Form, completed
from mttt.inner.learner import answers_of


@final
class AtOnce(Form):
    """For every learner and every optimizer, where nothing decays.

    All tokens of a chunk meet the same weights, and nobody asks for those after some of them. So there is one gradient,
    not one a token, in the backward pass, too.
    """

    course: Course
    size: int = eqx.field(static=True)

    def advance(self, carry: Carry, chunk: Chunk, kept: Any = None) -> tuple[Carry, Float[Array, "b k"], None]:
        course = self.course
        weights, rest = eqx.partition(carry.learner, eqx.is_inexact_array)
        share = course.places[-1] * chunk.eta

        def loss(weights: Any) -> Array:
            answers = answers_of(eqx.combine(weights, rest), chunk.inputs)
            return jnp.sum(share * course.losses(answers, chunk.targets))

        new = carry.update(course.optimizer, jax.grad(loss)(weights))
        return completed(new, carry, chunk), answers_of(carry.learner, chunk.queries), None

    def read(self, adjoint: Adjoint, carry: Carry, chunks: Chunk) -> tuple[Carry, Float[Array, "chunks b k"]]:
        return adjoint.read(self, carry, chunks)
