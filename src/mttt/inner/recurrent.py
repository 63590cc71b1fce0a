"""The plain form: the weights of every token are made. It is exact for every learner and every optimizer."""

from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mttt.inner.adjoint import Adjoint
from mttt.inner.carry import Carry
from mttt.inner.chunks import Chunk, shares_of
from mttt.inner.forms import Course, Form, completed
from mttt.inner.learner import answers_of


@final
class Recurrent(Form):
    """b copies of the weights at a time, for a chunk of b tokens."""

    course: Course
    size: int = eqx.field(static=True)
    undoes: bool = eqx.field(default=False, static=True)

    def advance(self, carry: Carry, chunk: Chunk, kept: Any = None) -> tuple[Carry, Float[Array, "b k"], None]:
        course = self.course
        weights, rest = eqx.partition(carry.learner, eqx.is_inexact_array)
        shares = shares_of(chunk, course.places)
        decayed = lambda scale: weights if scale is None else jax.tree.map(lambda w: scale * w, weights)  # noqa: E731

        def loss(weights: Any, row: Any) -> Array:
            inputs, targets = jax.tree.map(lambda a: a[None], row)
            return jnp.sum(course.losses(answers_of(eqx.combine(weights, rest), inputs), targets))

        gradient = lambda row, scale: jax.grad(loss)(decayed(scale), row)  # noqa: E731
        own = None if shares.scale is None else 0
        gradients = jax.vmap(gradient, in_axes=(0, own))((chunk.inputs, chunk.targets), shares.scale)

        def moved(share: Array, scale: Array | None) -> Carry:
            """The carry after a step on shares of the tokens."""
            whole = jax.tree.map(lambda g: jnp.tensordot(share, g, axes=1), gradients)
            return Carry(eqx.combine(decayed(scale), rest), carry.state, carry.t).update(course.optimizer, whole)

        def answer(share: Array, scale: Array | None, query: Array) -> Array:
            return answers_of(moved(share, scale).learner, query[None])[0]

        if course.chunking.learns_first:
            answers = jax.vmap(answer, in_axes=(0, own, 0))(shares.of, shares.scale, chunk.queries)
        else:
            answers = answers_of(carry.learner, chunk.queries)
        return completed(moved(shares.after, shares.scale_after), carry, chunk), answers, None

    def read(self, adjoint: Adjoint, carry: Carry, chunks: Chunk) -> tuple[Carry, Float[Array, "chunks b k"]]:
        return adjoint.read(self, carry, chunks)
