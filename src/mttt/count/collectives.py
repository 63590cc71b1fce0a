"""What the devices of a compiled program send each other."""

import math
import re
from typing import NamedTuple

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_BITS = {"pred": 8, "bf16": 16, "f16": 16, "c64": 64, "c128": 128}
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (\(.*?\)|\S+) ([\w\-]+)\(")
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\]")
_CALLED = re.compile(r"(?:calls|body|condition|to_apply|true_computation|false_computation)=%?([\w.\-]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


class Collective(NamedTuple):
    """One kind of message of a program, on one device."""

    kind: str
    bytes: int
    """of the result, each time"""
    times: int
    """a step; in a loop, once each time round"""


def _bytes(shape: str) -> int:
    total = 0
    for dtype, sizes in _ARRAY.findall(shape):
        bits = _BITS.get(dtype) or int(re.sub(r"\D", "", dtype)[:2] or 0)
        total += math.prod(map(int, filter(None, sizes.split(",")))) * bits // 8
    return total


def collectives(text: str) -> list[Collective]:
    """Of a compiled program as text (`compiled.as_text()`), which is that of one device."""
    found: dict[str, list[tuple[str, int]]] = {}
    calls: dict[str, list[tuple[str, int]]] = {}
    name, entry = "", ""
    for line in text.splitlines():
        if begins := _COMPUTATION.match(line):
            name = begins[1]
            entry = name if line.startswith("ENTRY") else entry
            found[name], calls[name] = [], []
        elif name and (one := _INSTRUCTION.match(line)):
            kind = one[2].removesuffix("-start")
            if kind in KINDS:
                found[name].append((kind, _bytes(one[1])))
            trips = int(trip[1]) if one[2] == "while" and (trip := _TRIPS.search(line)) else 1
            calls[name] += [(called, trips) for called in _CALLED.findall(line)]
    total: list[Collective] = []

    def visit(name: str, times: int) -> None:
        total.extend(Collective(kind, size, times) for kind, size in found.get(name, ()))
        for called, trips in calls.get(name, ()):
            visit(called, times * trips)

    visit(entry, 1)
    return total
