"""Learners whose weights are those of affine maps: what makes fast forms of learning token by token possible.

The gradient of one token's loss by an affine map x ↦ xA + b is an outer product: of x, and of the cotangent of the
map's output. So what steps on some tokens do to a later token's answer takes inner products of its x with theirs, and
no weights of any token in between; and a step can be undone by adding the outer product again.
"""

import abc
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol, final, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.inner.learner import TokenwiseLearner


@runtime_checkable
class AffineMap(Protocol):
    """x ↦ xA + b, each row for itself; `bias` is None where there is no b."""

    @property
    def bias(self) -> Array | None: ...

    def __call__(self, inputs: Any, /) -> Any: ...


Apply = Callable[[AffineMap, Float[Array, "n i"]], Float[Array, "n o"]]


class LayeredLearner(TokenwiseLearner):
    """A `TokenwiseLearner` whose W is the weights of affine maps, each used once in an answer, through `apply`.

    Such learners have fast forms in sequences: a chunk takes a few products, and no token's weights are made
    (`CausalTTT`). Their steps can be undone, too (`Undo`).

    To implement: `through(inputs, apply)`, and the static field `expansion` of `TokenwiseLearner`. A map is any module
    x ↦ xA + b for rows x, with b as its attribute `bias`, None if there is none: `mttt.nn.Dense`, for example.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class Deep(mttt.LayeredLearner):
        ...     maps: tuple[mttt.nn.Dense, ...]
        ...     expansion: float = eqx.field(static=True)
        ...     def __init__(self, width, *, key):
        ...         self.maps = tuple(mttt.nn.Dense(width, width, key=key) for key in jax.random.split(key))
        ...         self.expansion = 1.0
        ...     def through(self, inputs, apply):
        ...         first, second = self.maps
        ...         return apply(second, jnp.tanh(apply(first, inputs)))
        >>> layer = mttt.CausalTTT(16, 2, learner=Deep, chunks=mttt.Chunks(5), key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    @abc.abstractmethod
    def through(self, inputs: Float[Array, "n k"], apply: Apply) -> Float[Array, "n k"]:
        """Answer each row of inputs (n, k), with `apply(map, x)` in the place of `map(x)`."""

    @final
    def __call__(self, inputs: Float[Array, "n k"], *, key: PRNGKeyArray | None = None) -> Float[Array, "n k"]:
        """Answer each row of inputs (n, k) with k floats; `key` is not used."""
        return self.through(inputs, lambda layer, x: layer(x))


class Steps(NamedTuple):
    """What tokens do to the weights: for each map, its inputs and the cotangents of its outputs, a row a token."""

    inputs: tuple[Float[Array, "n i"], ...]
    cotangents: tuple[Float[Array, "n o"], ...]


def steps_of(
    learner: LayeredLearner,
    inputs: Float[Array, "n k"],
    slopes: Callable[[Float[Array, "n k"]], Float[Array, "n k"]],
    scale: Float[Array, " n"] | None = None,
    taught: tuple[Steps, Float[Array, "n m"]] | None = None,
    known: Sequence[Float[Array, "n _o"]] | None = None,
) -> Steps:
    """The gradient of every token's loss at the weights as they are, times `scale` if each token has its own scale.

    `slopes` are the gradients of the losses by the answers. `taught` are steps, and the share of each that a token has
    learned before its gradient is taken. `known` are the outputs of the maps, if somebody has them: they are not made
    again, and are differentiated as if they were.
    """

    def run(shifts: Any) -> tuple[Array, Any]:
        seen, left, lessons = [], list(shifts), _lessons(taught)
        values = repeat(None) if known is None else iter(known)

        def apply(layer: AffineMap, x: Array) -> Array:
            seen.append(x)
            value, lesson = next(values), next(lessons)
            given = (layer, x, scale, lesson)
            out = _after(*given) if value is None else _known(given, jax.lax.stop_gradient(value))
            return out + left.pop(0)

        return learner.through(inputs, apply), tuple(seen)

    answers, pull, seen = jax.vjp(run, _zeros(learner, inputs), has_aux=True)
    return Steps(seen, pull(slopes(answers))[0])


def outputs_of(
    learner: LayeredLearner,
    inputs: Float[Array, "n k"],
    scale: Float[Array, " n"] | None = None,
    taught: tuple[Steps, Float[Array, "n m"]] | None = None,
) -> tuple[Float[Array, "n _o"], ...]:
    """The outputs of all maps, in their order."""
    found, lessons = [], _lessons(taught)

    def apply(layer: AffineMap, x: Array) -> Array:
        found.append(_after(layer, x, scale, next(lessons)))
        return found[-1]

    learner.through(inputs, apply)
    return tuple(found)


def answers_after(
    learner: LayeredLearner,
    inputs: Float[Array, "m k"],
    steps: Steps,
    shares: Float[Array, "m n"],
    scale: Float[Array, " m"] | None = None,
) -> Float[Array, "m k"]:
    """What the learner answers when row t has learned `shares[t, s]` of token s's step; the weights are never made."""
    lessons = _lessons((steps, shares))
    return learner.through(inputs, lambda layer, x: _after(layer, x, scale, next(lessons)))


def step_by(
    learner: LayeredLearner, steps: Steps, shares: Float[Array, " n"], scale: Float[Array, ""] | None = None
) -> Any:
    """The learner after `shares[s]` of every token's step."""
    change = _gradient(learner, steps, shares)
    return eqx.apply_updates(_scaled(learner, scale), jax.tree.map(jnp.negative, change))


def step_back(
    learner: LayeredLearner, steps: Steps, shares: Float[Array, " n"], scale: Float[Array, ""] | None = None
) -> Any:
    """The learner before `step_by`."""
    back = eqx.apply_updates(learner, _gradient(learner, steps, shares))
    return _scaled(back, None if scale is None else 1 / scale)


def _gradient(learner: LayeredLearner, steps: Steps, shares: Float[Array, " n"]) -> Any:
    """The weighted sum of the tokens' gradients, as a tree like the learner's weights."""
    weights, rest = eqx.partition(learner, eqx.is_inexact_array)

    def outputs(weights: Any) -> tuple[Array, ...]:
        found, seen = [], list(steps.inputs)

        def apply(layer: AffineMap, x: Array) -> Array:
            found.append(layer(seen.pop(0)))
            return found[-1]

        eqx.combine(weights, rest).through(steps.inputs[0], apply)
        return tuple(found)

    _, pull = jax.vjp(outputs, weights)
    return pull(tuple(shares[:, None] * cotangent for cotangent in steps.cotangents))[0]


def _zeros(learner: LayeredLearner, inputs: Float[Array, "n k"]) -> tuple[Array, ...]:
    """A zero for the output of every map."""
    shapes = []

    def run(inputs: Array) -> Array:
        def apply(layer: AffineMap, x: Array) -> Array:
            out = layer(x)
            shapes.append((out.shape, out.dtype))
            return out

        return learner.through(inputs, apply)

    jax.eval_shape(run, inputs)
    return tuple(jnp.zeros(*shape) for shape in shapes)


Taught = tuple[Array, Array, Array]


def _lessons(taught: tuple[Steps, Array] | None) -> Iterator[Taught | None]:
    """What each map, in their order, was taught: inputs, cotangents, and the share of each that a token has."""
    if taught is None:
        return repeat(None)
    (seen, cotangents), shares = taught
    return ((x, cotangent, shares) for x, cotangent in zip(seen, cotangents, strict=True))


def _after(layer: Any, x: Array, scale: Array | None, lesson: Taught | None) -> Array:
    """The map after it was taught, which takes inner products with what it was taught by, and no new weights."""
    rows = _times(scale, layer(x))
    if lesson is None:
        return rows
    seen, cotangents, shares = lesson
    alike = x @ seen.T
    return rows - (shares * (alike if layer.bias is None else alike + 1)) @ cotangents


@eqx.filter_custom_vjp
def _known(given: Any, value: Array) -> Array:
    """`_after` of what is given, whose value somebody knows."""
    return value


@_known.def_fwd
def _known_forward(perturbed: Any, given: Any, value: Array) -> tuple[Array, None]:
    # Not the bare value: what is differentiated again has to depend on the same things again.
    return _known(given, value), None


@_known.def_bwd
def _known_backward(residuals: None, cotangent: Array, perturbed: Any, given: Any, value: Array) -> Any:
    _, pull = eqx.filter_vjp(lambda given: _after(*given), given)  # the value itself is not used, so not computed
    return pull(cotangent)[0]


def _times(scale: Float[Array, " n"] | None, rows: Float[Array, "n o"]) -> Float[Array, "n o"]:
    return rows if scale is None else scale[:, None] * rows


def _scaled(learner: Any, scale: Float[Array, ""] | None) -> Any:
    if scale is None:
        return learner
    return jax.tree.map(lambda leaf: scale * leaf if eqx.is_inexact_array(leaf) else leaf, learner)
