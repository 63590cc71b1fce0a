"""The whole way from W₀ to W_T, to look at: the inner loop's own steps, of which it keeps only the last."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from mttt.inner.adjoint import Adjoint, Recompute
from mttt.inner.batching import Batching, Rows
from mttt.inner.carry import Carry, Rated, Start
from mttt.inner.learner import answers_of
from mttt.inner.loop import lesson_of
from mttt.inner.optimizer import Optimizer
from mttt.inner.rates import Rates
from mttt.inner.task import Task
from mttt.nn.dense import at_least_float32


class Trajectory(NamedTuple):
    """W_0 … W_T, and what each step did. Every array of `carries` has a first axis of T + 1, the others one of T."""

    carries: Carry
    losses: Float[Array, "T+1 n"]
    """ℓ of every token at every W_t; its mean over the tokens is what `inner_loop` reports"""
    gradients: PyTree[Array]
    """what the optimizer got in each step"""
    shares: PyTree[Array] | None
    """which part of it one token is the cause of; None if no token was named"""

    def learner_at(self, t: Int[Array, ""] | int) -> Any:
        """f(·; W_t)."""
        return jax.tree.map(lambda leaf: leaf[t] if eqx.is_array(leaf) else leaf, self.carries.learner)


def trajectory(
    start: Start,
    task: Task,
    optimizer: Optimizer,
    batching: Batching,
    tokens: Float[Array, "n d"],
    *,
    key: PRNGKeyArray | None = None,
    rates: Rates | None = None,
    adjoint: Adjoint = Recompute(),  # noqa: B008
    token: Int[Array, ""] | int | None = None,
) -> Trajectory:
    """What `inner_loop` goes through with the same arguments. `token` asks for that token's share in every gradient.

    The gradient of a step is a sum over tokens. A token's share is what is left of it when all others weigh 0, so the
    shares of all tokens add up to the gradient; in a step on a mini-batch that it is not in, a token has none.
    """
    how = {"mask": None, "key": key, "losses": True, "rates": rates, "adjoint": adjoint, "axis": None}
    lesson, split = lesson_of(start, task, optimizer, batching, tokens, **how)
    problem = task.problem(tokens)

    def look(carry: Carry) -> tuple[Carry, Float[Array, " n"]]:
        return eqx.filter(carry, eqx.is_array), problem.losses_of(answers_of(carry.learner, problem.inputs))

    def step(carry: Carry, rows: Rows) -> tuple[Carry, Any]:
        whole, alone = rows.content
        gradient = lesson.gradient(carry, rows._replace(content=whole))
        share = None if alone is None else lesson.gradient(carry, rows._replace(content=alone))
        return carry.update(optimizer, gradient), (look(carry), gradient, share)

    # One that knows a cheaper first step than the general one begins before it here, too: its W₀ is to be seen.
    carry = start.first(optimizer, at_least_float32(tokens).dtype)
    parts = []
    for phase in split.phases((lesson.rows, _alone(lesson.rows, token, tokens))):
        carry, part = adjoint.repeat(step, carry, phase)
        parts.append(part)
    last = jax.tree.map(lambda a: a[None], look(carry))
    (carries, losses), gradients, shares = _joined(parts) if parts else (last, None, None)
    if parts:
        carries, losses = _joined([(carries, losses), last])
    carries = eqx.combine(carries, eqx.filter(carry, eqx.is_array, inverse=True))
    return Trajectory(carries, losses, gradients, shares)


def _alone(rows: Rated, token: Int[Array, ""] | int | None, tokens: Float[Array, "n d"]) -> Rated | None:
    """The rows, of which one alone weighs anything."""
    if token is None:
        return None
    eta = jnp.ones(tokens.shape[0], at_least_float32(tokens).dtype) if rows.eta is None else rows.eta
    return Rated(rows.posed, jnp.where(jnp.arange(tokens.shape[0]) == token, eta, 0))


def _joined(parts: list[Any]) -> Any:
    """One after the other, along the first axis."""
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *each: jnp.concatenate(each), *parts)
