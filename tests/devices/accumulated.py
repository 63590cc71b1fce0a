"""Accumulated training steps on emulated devices, in a process of their own: what is sent in the loop, what after it.

python accumulated.py: the result as JSON lines
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from steps import MIXERS, Seen, fresh, prepared

from mttt.count.collectives import collectives
from mttt.devices import placement_of

PARTS, EACH = 4, 8  # parts of a batch, rows of each
PLACEMENTS = {
    "data 8": {"data": 8},
    "data 2, sequence 4": {"data": 2, "sequence": 4},
    "sequence 4": {"data": 1, "sequence": 4},
    "sharded": {"data": 8, "sharded": True},
}


def sent(text, kind, *, looped):
    return sum(one.bytes * one.times for one in collectives(text) if one.kind == kind and looped == (one.times > 1))


def main():
    mixer = MIXERS["mttt-mlp"]
    state = prepared(mixer).state()
    whole = {rows: Seen(prepared(mixer), fresh(state), inner=False, rows=rows) for rows in (32, 16)}
    for where, asked in PLACEMENTS.items():
        # With as many rows on each device as where they are on both axes, the tokens' own messages can be compared.
        rows = 16 if where == "sequence 4" else PARTS * EACH
        training = prepared(mixer, accumulate=PARTS)
        got = Seen(training, fresh(state), placement_of(**asked), inner=False, rows=rows)
        expected = whole[rows]
        largest = max(float(np.max(np.abs(each))) for each in expected.gradient)
        errors = [float(np.max(np.abs(a - b))) / largest for a, b in zip(got.gradient, expected.gradient, strict=True)]
        line = {
            "placement": where,
            "loss": abs(got.loss - expected.loss) / abs(expected.loss),
            "gradient": max(errors),
            "parameters": sum(each.nbytes for each in expected.gradient),
            "reduced in the loop": sent(got.text, "all-reduce", looped=True),
            "reduced after it": sent(got.text, "all-reduce", looped=False),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
