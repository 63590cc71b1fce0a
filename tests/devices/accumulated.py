"""Accumulated training steps on emulated devices, in a process of their own: what is sent in the loop, what after it.

python accumulated.py: the result as JSON lines
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from steps import MIXERS, Seen, prepared

from mttt.count.collectives import collectives
from mttt.devices import placement_of

MIXER = MIXERS["mttt-linear"]
PARTS, EACH = 4, 8  # parts of a batch, rows of each
PLACEMENTS = {
    "data 8": {"data": 8},
    "data 2, sequence 4": {"data": 2, "sequence": 4},
    "sequence 4": {"data": 1, "sequence": 4},
    "sharded": {"data": 8, "sharded": True},
}


def sent(text, kind, *, looped):
    return sum(one.bytes * one.times for one in collectives(text) if one.kind == kind and looped == (one.times > 1))


def step(where, rows=PARTS * EACH):
    state = prepared(MIXER).state()
    return Seen(prepared(MIXER, accumulate=PARTS), state, placement_of(**PLACEMENTS[where]), inner=False, rows=rows)


def line(where, got):
    reduced = {looped: sent(got.text, "all-reduce", looped=looped) for looped in (True, False)}
    return {"placement": where, "reduced in the loop": reduced[True], "reduced after it": reduced[False]}


def main():
    expected = Seen(prepared(MIXER), prepared(MIXER).state(), inner=False, rows=PARTS * EACH)
    largest = max(float(np.max(np.abs(each))) for each in expected.gradient)
    for where in ("data 8", "data 2, sequence 4", "sharded"):
        got = step(where)
        errors = [float(np.max(np.abs(a - b))) / largest for a, b in zip(got.gradient, expected.gradient, strict=True)]
        numbers = {
            "loss": abs(got.loss - expected.loss) / abs(expected.loss),
            "gradient": max(errors),
            "parameters": sum(each.nbytes for each in expected.gradient),
            "gathered": sum(one.bytes * one.times for one in collectives(got.text) if one.kind == "all-gather"),
        }
        print(json.dumps(line(where, got) | numbers), flush=True)
    # With as many rows on each device as where they are on both axes, the tokens' own messages can be compared.
    print(json.dumps(line("sequence 4", step("sequence 4", PARTS * EACH // 2))), flush=True)


if __name__ == "__main__":
    main()
