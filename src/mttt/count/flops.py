"""FLOPs of a program, counted from its jaxpr. Nothing is compiled or run, so it may be larger than the machine."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.extend.core import Jaxpr
from jax.interpreters import partial_eval

from mttt.count.programs import called, refuse_while
from mttt.count.rules import operations
from mttt.count.shapes import shapes_of
from mttt.count.values import useful


class Flops(NamedTuple):
    """What a program computes.

    `useful` counts every value once. What `jax.checkpoint` computes again in the backward pass is not counted again,
    and neither is what every iteration of a loop computes alike, or what is simply written twice. It does not depend on
    how a program is cut into blocks and what it keeps, so it is the number that speeds should be judged by.
    `executed` counts what is computed as often as it is computed, a loop's body for every iteration.
    """

    useful: int
    executed: int


def flops(function: Callable, *arguments: Any) -> Flops:
    """Count by the rules of `rules.py`. Arguments are pytrees of arrays or of their shapes.

    Operations that no output depends on are not counted. Of a `cond`, the branch that takes most is counted, and all of
    it: recomputation inside of it is told apart, but not that of the whole. A `while` loop is refused.
    """
    closed = jax.make_jaxpr(function)(*shapes_of(arguments))
    needed, _ = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    return Flops(useful(closed), _executed(needed))


def _executed(jaxpr: Jaxpr) -> int:
    total = 0
    for equation in jaxpr.eqns:
        refuse_while(equation)
        parameters = equation.params
        if equation.primitive.name == "scan":
            total += parameters["length"] * _executed(parameters["jaxpr"].jaxpr)
        elif equation.primitive.name == "cond":
            total += max(_executed(branch.jaxpr) for branch in parameters["branches"])
        elif (inside := called(equation)) is not None:
            total += _executed(inside.jaxpr)
        else:
            total += operations(equation)
    return total
