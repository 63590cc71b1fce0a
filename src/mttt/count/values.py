"""A program as the set of values that it computes, so that what is computed again is found.

Two operations of one kind on the same operands give the same value. This finds recomputation wherever it is: after
`jax.checkpoint`, the equations of the backward pass that repeat the forward pass. (Compilers call it value numbering.)

Inside of loops a value is a function of the loops' indices, and knows which of them it depends on: it stands for as
many values as these take. So what is the same in all iterations counts once. Element i of a stacked result of a loop is
the value that iteration i has stacked: the backward pass of a scan finds that of the forward pass.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

from mttt.count.programs import called, refuse_while, scan_parts
from mttt.count.rules import operations

LOOPING = frozenset(["hole", "carried", "last", "stacked"])


class Loop(NamedTuple):
    """A loop's index: how many loops are around it, itself included, and how many values it takes."""

    depth: int
    length: int


@dataclass
class Value:
    """What is known of a value: an operation, and the numbers of the values that it is applied to."""

    operation: tuple[Hashable, ...]
    operands: tuple[int, ...]
    flops: int
    loops: frozenset[Loop]
    holes: frozenset[int]  # which holes it was made of


def useful(program: ClosedJaxpr) -> int:
    """FLOPs of the values that the outputs are made of, each once."""
    values = Values()
    arguments = [values.make("argument", position) for position in range(len(program.jaxpr.invars))]
    return values.flops(values.run(program, arguments, 0))


class Values:
    """Values, each with a number."""

    def __init__(self):
        self._numbers: dict[tuple[Hashable, ...], int] = {}
        self._values: list[Value] = []

    def make(
        self,
        *operation: Hashable,
        operands: Sequence[int] = (),
        flops: int = 0,
        loops: frozenset[Loop] | None = None,
        holes: frozenset[int] | None = None,
    ) -> int:
        """The number of this value. It depends on the loops and holes that its operands depend on, unless told."""
        key = *operation, tuple(operands)
        if key not in self._numbers:
            of = [self._values[number] for number in operands]
            loops = frozenset[Loop]().union(*(value.loops for value in of)) if loops is None else loops
            holes = frozenset[int]().union(*(value.holes for value in of)) if holes is None else holes
            self._numbers[key] = len(self._values)
            self._values.append(Value(operation, tuple(operands), flops, loops, holes))
        return self._numbers[key]

    def flops(self, outputs: Sequence[int]) -> int:
        """FLOPs of all values that these are made of."""
        total, seen, ahead = 0, set(outputs), list(set(outputs))
        while ahead:
            value = self._values[ahead.pop()]
            total += value.flops * prod(loop.length for loop in value.loops)
            new = set(value.operands) - seen
            seen |= new
            ahead += new
        return total

    def run(self, program: ClosedJaxpr, arguments: Sequence[int], depth: int) -> list[int]:
        """The outputs of a program, inside of as many loops as `depth` says."""
        jaxpr: Jaxpr = program.jaxpr
        known = dict(zip(jaxpr.invars, arguments, strict=True))
        for variable, constant in zip(jaxpr.constvars, program.consts, strict=True):
            known[variable] = self.make("constant", id(constant))

        def read(atom) -> int:
            if not isinstance(atom, Literal):
                return known[atom]
            return self.make("literal", str(atom.aval), np.asarray(atom.val).tobytes())

        for equation in jaxpr.eqns:
            results = self._equation(equation, [read(atom) for atom in equation.invars], depth)
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, equation: JaxprEqn, operands: list[int], depth: int) -> list[int]:
        refuse_while(equation)
        name = equation.primitive.name
        if name == "scan":
            return self._scan(equation, operands, depth)
        if (inside := called(equation)) is not None:
            return self.run(inside, operands, depth)
        if name == "optimization_barrier":
            return operands
        if name == "cond":
            flops = max(useful(branch) for branch in equation.params["branches"])
        else:
            flops = operations(equation)
        parameters = tuple((name, _hashable(value)) for name, value in sorted(equation.params.items()))
        whole = self.make(name, parameters, operands=operands, flops=flops)
        if len(equation.outvars) == 1:
            return [whole]
        return [self.make("output", position, operands=[whole]) for position in range(len(equation.outvars))]

    def _scan(self, equation: JaxprEqn, operands: list[int], depth: int) -> list[int]:
        """Twice through the body: with holes for what is carried, to see what becomes of it; then with its values."""
        parameters = equation.params
        loop, body = Loop(depth + 1, parameters["length"]), parameters["jaxpr"]
        begin, carry = scan_parts(equation)
        end = begin + carry
        constants, start, rows = operands[:begin], operands[begin:end], [self._row(x, loop) for x in operands[end:]]
        holes = []
        for position in range(len(start)):
            holes.append(self.make("hole", loop, position, loops=frozenset([loop])))
            self._values[holes[-1]].holes = frozenset([holes[-1]])
        step = self.run(body, [*constants, *holes, *rows], loop.depth)[: len(start)]
        carried = self._carried(loop, parameters["reverse"], start, holes, step)
        outputs = self.run(body, [*constants, *carried, *rows], loop.depth)
        for number, before, after in zip(carried, start, outputs[: len(start)], strict=True):
            if number != before:
                self._values[number].operands = (before, after)
        last = [
            number if number == before else self._outside("last", loop, number)
            for number, before in zip(carried, start, strict=True)
        ]
        return last + [self._stacked(number, loop) for number in outputs[len(start) :]]

    def _carried(self, loop: Loop, reverse: bool, start: list[int], holes: list[int], step: list[int]) -> list[int]:
        """What the loop carries, as values. Such a value is told by where it starts and what a step makes of it."""
        carried = []
        for position, before in enumerate(start):
            if step[position] == holes[position]:  # it never changes
                carried.append(before)
                continue
            together, ahead = {position}, [position]  # a step makes it of these
            while ahead:
                used = self._values[step[ahead.pop()]].holes
                new = {other for other, hole in enumerate(holes) if hole in used} - together
                together |= new
                ahead += new
            parts = tuple((other, start[other], step[other]) for other in sorted(together))
            of = [self._values[number] for _, *both in parts for number in both]
            loops = frozenset([loop]).union(*(value.loops for value in of))
            outer = frozenset[int]().union(*(value.holes for value in of)) - set(holes)
            carried.append(self.make("carried", loop, reverse, position, parts, loops=loops, holes=outer))
        return carried

    def _row(self, rows: int, loop: Loop) -> int:
        """The row of this iteration."""
        value = self._values[rows]
        if (
            value.operation[0] == "stacked"
            and (row := self._moved(value.operands[0], value.operation[1], loop)) is not None
        ):
            return row
        return self.make("row", loop, operands=[rows], loops=value.loops | {loop})

    def _stacked(self, row: int, loop: Loop) -> int:
        """The rows of all iterations."""
        value = self._values[row]
        return value.operands[0] if value.operation == ("row", loop) else self._outside("stacked", loop, row)

    def _outside(self, what: str, loop: Loop, inside: int) -> int:
        return self.make(what, loop, operands=[inside], loops=self._values[inside].loops - {loop})

    def _moved(self, number: int, old: Hashable, new: Loop) -> int | None:
        """A value of one loop as that of another. None if there are loops inside of it.

        JAX takes what does not depend on a loop out of it, and a loop in there is then a loop less deep.
        """
        if old == new:
            return number
        inside, ahead = {number}, [number]
        while ahead:
            value = self._values[ahead.pop()]
            if value.operation[0] in LOOPING:
                return None
            of = {other for other in value.operands if old in self._values[other].loops} - inside
            inside |= of
            ahead += of
        moved: dict[int, int] = {}
        for each in sorted(inside):  # operands come before what is made of them
            value = self._values[each]
            if value.operation == ("row", old):
                moved[each] = self._row(value.operands[0], new)
            else:
                operands = [moved.get(other, other) for other in value.operands]
                moved[each] = self.make(*value.operation, operands=operands, flops=value.flops)
        return moved[number]


def _hashable(parameter: object) -> Hashable:
    if isinstance(parameter, Jaxpr | ClosedJaxpr) or not isinstance(parameter, Hashable):
        return str(parameter)
    try:
        hash(parameter)
    except TypeError:  # a tuple of lists, say
        return str(parameter)
    return parameter
