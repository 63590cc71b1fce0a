"""Steps on single tokens, exactly, in blocks: forward substitution in the place of new weights for every token.

In a block of tokens that begins with W, the weights of token t are W minus the outer products of the tokens before it.
So its step U_t (inputs and cotangents of all affine maps) is a function of W and of U_1 … U_{t−1}:

    U = Φ(U; W, tokens),    row t of Φ looks at rows before t alone

Row after row, this takes products of single vectors with W, which stays as it is in a cache. Everything else, all that
is asked and the W after the block, is a few products for the whole block. For the linear learner and the squared error
Φ is linear in U, and `WY` solves it at once.

The backward pass does not look into the loop. With λ the cotangent of U,

    λ ← λ + (∂Φ/∂U)ᵀ λ,  from the last row to the first;    then (∂Φ/∂W)ᵀ λ and the like for all rows at once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from mttt.inner.adjoint import Adjoint
from mttt.inner.carry import Carry
from mttt.inner.chunks import Chunk, Portions, shares_of
from mttt.inner.forms import Course, Form, slopes_of
from mttt.inner.layered import Steps, answers_after, outputs_of, step_back, step_by, steps_of
from mttt.inner.optimizer import GradientDescent

BLOCK = 16


class Unsolved(NamedTuple):
    """What is known of some tokens before their steps are."""

    inputs: Float[Array, "m k"]
    targets: PyTree[Array]
    shares: Float[Array, "m b"]  # of the steps of all tokens of the block that each has learned before its own
    scale: Float[Array, " m"] | None


@final
class Substitution(Form):
    """For learners made of affine maps, gradient descent with one rate, and a step for each token."""

    course: Course
    size: int = eqx.field(default=BLOCK, static=True)
    undoes: bool = eqx.field(default=True, static=True)

    def _shares(self, chunk: Chunk) -> Portions:
        optimizer, tokens = self.course.optimizer, chunk.eta.shape[0]
        assert isinstance(optimizer, GradientDescent)
        return shares_of(chunk, jnp.broadcast_to(self.course.places[:1], (tokens,)), optimizer.rate_at(0))

    @property
    def each(self) -> bool:
        return True

    def advance(
        self, carry: Carry, chunk: Chunk, kept: Steps | None = None
    ) -> tuple[Carry, Float[Array, "b k"], Steps]:
        learner, shares = carry.learner, self._shares(chunk)
        weights, rest = eqx.partition(learner, eqx.is_inexact_array)
        losses, other = eqx.partition(self.course.losses, eqx.is_inexact_array)
        rows = Unsolved(chunk.inputs, chunk.targets, jnp.tril(shares.of, -1), shares.scale)

        def phi(given: Any, rows: Unsolved, inputs: Array, later: Steps | None, outputs: Any = None) -> Steps:
            weights, losses = given
            slopes = lambda answers: slopes_of(eqx.combine(losses, other), answers, rows.targets)  # noqa: E731
            taught = None if later is None else (Steps((inputs, *later.inputs), later.cotangents), rows.shares)
            steps = steps_of(eqx.combine(weights, rest), rows.inputs, slopes, rows.scale, taught, outputs)
            return Steps(steps.inputs[1:], steps.cotangents)

        def outputs(given: Any, rows: Unsolved, inputs: Array, later: Steps) -> Any:
            taught = Steps((inputs, *later.inputs), later.cotangents), rows.shares
            return outputs_of(eqx.combine(given[0], rest), rows.inputs, rows.scale, taught)

        later: Any = _substituted(phi, outputs, (weights, losses), rows, chunk.inputs, kept)
        steps = Steps((chunk.inputs, *later.inputs), later.cotangents)
        answers = answers_after(learner, chunk.queries, steps, shares.of, shares.scale)
        new = step_by(learner, steps, shares.after, shares.scale_after)
        return Carry(new, carry.state, carry.t), answers, later

    def read(self, adjoint: Adjoint, carry: Carry, chunks: Chunk) -> tuple[Carry, Float[Array, "chunks b k"]]:
        return adjoint.read(self, carry, chunks)

    def undo(self, carry: Carry, chunk: Chunk, kept: Steps) -> Carry:
        shares = self._shares(chunk)
        steps = Steps((chunk.inputs, *kept.inputs), kept.cotangents)
        return Carry(step_back(carry.learner, steps, shares.after, shares.scale_after), carry.state, carry.t)


def _one_by_one(rows: Any) -> Any:
    """A leading axis of tokens, each a row."""
    return jax.tree.map(lambda a: a[:, None], rows)


def _row_by_row(phi: Callable[..., Steps], given: Any, rows: Unsolved, inputs: Float[Array, "b k"]) -> Steps:
    """U with U = Φ(U)."""
    shapes = jax.eval_shape(phi, given, rows, inputs, None)
    empty = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)

    def body(steps: Steps, x: tuple[Array, Unsolved]) -> tuple[Steps, None]:
        t, row = x
        put = lambda all_rows, one: jax.lax.dynamic_update_index_in_dim(all_rows, one[0], t, 0)  # noqa: E731
        return jax.tree.map(put, steps, phi(given, row, inputs, steps)), None

    order = jnp.arange(inputs.shape[0])
    return jax.lax.scan(body, empty, (order, _one_by_one(rows)))[0]


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _substituted(
    phi: Callable[..., Steps],
    outputs: Callable[..., Any],
    given: Any,
    rows: Unsolved,
    inputs: Float[Array, "b k"],
    kept: Steps | None,
) -> Steps:
    """U with U = Φ(U), unless it was kept: then it is not differentiated by what was kept."""
    return _row_by_row(phi, given, rows, inputs) if kept is None else kept


def _forward(phi: Any, outputs: Any, given: Any, rows: Unsolved, inputs: Array, kept: Any) -> tuple[Steps, Any]:
    steps = _row_by_row(phi, given, rows, inputs) if kept is None else kept
    return steps, (given, rows, inputs, kept, steps)


def _backward(phi: Any, outputs: Any, residuals: Any, cotangent: Steps) -> Any:
    given, rows, inputs, kept, steps = residuals

    def body(cotangent: Steps, x: tuple[Array, Unsolved, Any]) -> tuple[Steps, None]:
        t, row, out = x
        own = jax.tree.map(lambda a: jax.lax.dynamic_index_in_dim(a, t, 0), cotangent)
        _, pull = jax.vjp(lambda steps: phi(given, row, inputs, steps, out), steps)
        return jax.tree.map(jnp.add, cotangent, pull(own)[0]), None

    found = outputs(given, rows, inputs, steps)
    each = (jnp.arange(inputs.shape[0]), *_one_by_one((rows, found)))
    cotangent, _ = jax.lax.scan(body, cotangent, each, reverse=True)
    _, pull = jax.vjp(lambda given, rows, inputs: phi(given, rows, inputs, steps), given, rows, inputs)
    return *pull(cotangent), jax.tree.map(jnp.zeros_like, kept)


_substituted.defvjp(_forward, _backward)
