"""The task of linear attention and its successors: answer a token's key with its value."""

import abc
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.task import Compared, Problem, TokenwiseTask
from mttt.nn.check import check_instance, check_whole
from mttt.nn.dense import Dense, at_least_float32, fan_in_uniform
from mttt.nn.norm import LayerNorm


class RowLoss(eqx.Module):
    """How wrong an answer is, for each row.

    To implement: `__call__(answers, targets)`, from (n, k) and (n, k) to (n,).

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> class AbsoluteLoss(mttt.RowLoss):
        ...     def __call__(self, answers, targets):
        ...         return jnp.sum(jnp.abs(answers - targets), axis=1)
        >>> task = mttt.KeyValue(16, 8, loss=AbsoluteLoss(), key=jax.random.key(0))
        >>> task(jnp.ones((10, 16))).losses_of(jnp.zeros((10, 8))).shape
        (10,)
    """

    @abc.abstractmethod
    def __call__(self, answers: Float[Array, "n k"], targets: Float[Array, "n k"]) -> Float[Array, " n"]:
        """The loss of each row, (n,), of answers (n, k) and targets (n, k)."""


@final
class SquaredLoss(RowLoss):
    """½‖answer − target‖², for each row.

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> mttt.SquaredLoss()(jnp.ones((2, 4)), jnp.zeros((2, 4))).tolist()
        [2.0, 2.0]
    """

    def __call__(self, answers: Float[Array, "n k"], targets: Float[Array, "n k"]) -> Float[Array, " n"]:
        return 0.5 * jnp.sum((answers - targets) ** 2, axis=1)


@final
class DotLoss(RowLoss):
    """−answer·target, for each row: every token pulls as hard, however well it is known already.

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> mttt.DotLoss()(jnp.ones((2, 4)), jnp.ones((2, 4))).tolist()
        [-4.0, -4.0]
    """

    def __call__(self, answers: Float[Array, "n k"], targets: Float[Array, "n k"]) -> Float[Array, " n"]:
        return -jnp.sum(answers * targets, axis=1)


class Losses(eqx.Module):
    """A row loss of the answers, after a norm if there is one."""

    loss: RowLoss
    norm: LayerNorm | None

    def __call__(self, answers: Float[Array, "n k"], targets: Float[Array, "n k"]) -> Float[Array, " n"]:
        return self.loss(answers if self.norm is None else self.norm(answers), targets)


def _unit(rows: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Rows of norm 1; a row of zeros stays one, and has a gradient."""
    return rows * jax.lax.rsqrt(jnp.sum(rows**2, axis=1, keepdims=True) + 1e-6)


@final
class KeyValue(TokenwiseTask):
    """Answer the key of a token with its value, the task of linear attention and its successors.

        ℓ(W) = loss(f(key; W), value)        key and value are affine views of the token, k wide

    `KeyValue(dim, width, residual=True, norm=True, key=key)` is the task of TTT-Linear and TTT-MLP, `unit=True,
    output_norm=True` that of the delta rules. A token costs O(d·k) once.

    Arguments:
    - dim: d, the width of a token
    - width: k, the width of the head that learns
    - loss: a `RowLoss`; ½‖answer − target‖² by default
    - norm: whether the answer is normalised (LN), in the task and in the output alike. Each head has its own scale and
      shift
    - residual: whether the target is value − key, and the output the query plus the answer: the learner then has to
      know only what differs
    - unit: whether keys and queries have norm 1, as the delta rule wants them
    - output_norm: whether what leaves the head is normalised (LN), and nothing in the task, as DeltaNet does
    - key: random key for the two views

    Example:

        >>> import jax, jax.numpy as jnp, mttt
        >>> task = mttt.KeyValue(16, 8, unit=True, key=jax.random.key(0))
        >>> problem = task(jax.random.normal(jax.random.key(1), (10, 16)))
        >>> problem.inputs.shape, bool(jnp.allclose(jnp.sum(problem.inputs**2, axis=1), 1, atol=1e-3))
        ((10, 8), True)

    Reference: Sun et al. (2024), arXiv 2407.04620; Yang et al. (2024), arXiv 2406.06484 (DeltaNet).
    """

    key: Dense
    value: Dense
    loss: RowLoss
    norm: LayerNorm | None
    output_norm: LayerNorm | None
    residual: bool = eqx.field(static=True)
    unit: bool = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        width: int,
        *,
        loss: RowLoss = SquaredLoss(),  # noqa: B008
        norm: bool = False,
        residual: bool = False,
        unit: bool = False,
        output_norm: bool = False,
        key: PRNGKeyArray,
    ):
        check_whole(dim=dim, width=width)
        check_instance("loss", loss, RowLoss, "SquaredLoss()")
        key_key, value_key = jax.random.split(key)
        self.key = Dense(dim, width, key=key_key, kernel_init=fan_in_uniform)
        self.value = Dense(dim, width, key=value_key, kernel_init=fan_in_uniform)
        self.loss = loss
        self.norm = LayerNorm(width) if norm else None
        self.output_norm = LayerNorm(width) if output_norm else None
        self.residual, self.unit = residual, unit

    def __call__(self, tokens: Float[Array, "n d"]) -> Problem:
        keys, values = (at_least_float32(view(tokens)) for view in (self.key, self.value))
        keys = _unit(keys) if self.unit else keys
        targets = values - keys if self.residual else values
        return Problem(keys, targets, Losses(self.loss, self.norm), labels=values)

    def compare(self, tokens: Float[Array, "n d"], answers: Float[Array, "n k"]) -> Compared:
        """Values, and the answers as values: with `residual`, what was learned is added to the key."""
        problem = self(tokens)
        answers = answers if self.norm is None else self.norm(answers)
        assert problem.labels is not None
        return Compared("value", problem.labels, problem.inputs + answers if self.residual else answers)

    def queries(self, view: Float[Array, "n k"]) -> Float[Array, "n k"]:
        return _unit(view) if self.unit else view

    def outputs(self, answers: Float[Array, "n k"], queries: Float[Array, "n k"]) -> Float[Array, "n k"]:
        answers = answers if self.norm is None else self.norm(answers)
        outputs = queries + answers if self.residual else answers
        return outputs if self.output_norm is None else self.output_norm(outputs)

    def report(self, losses: Float[Array, "*t"]) -> Float[Array, "*t"]:
        """The mean over tokens and over the k features."""
        return losses / self.value.bias.shape[-1]


def has_straight_slope(losses: Any) -> bool:
    """Whether ∂ℓ/∂(answer) is answer − target: then steps on single tokens have an exact form for many at once."""
    return isinstance(losses, Losses) and losses.norm is None and isinstance(losses.loss, SquaredLoss)
