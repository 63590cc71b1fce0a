"""What can be asked for, and what cannot."""

import json
import os
import subprocess
import sys

import pytest

from mttt.devices import Distributed
from mttt.fields import FieldError

ASK = """
import json, sys, jax
from mttt.devices import placement_of
from mttt.fields import FieldError
for asked, batch, tokens, parts in json.loads(sys.argv[1]):
    try:
        found = placement_of(**asked)
        found.check(batch, tokens, parts)
        print(json.dumps(str(found)))
    except FieldError as error:
        print(json.dumps(str(error)))
"""
CASES = {
    "all": (({}, 32, 64, 1), "8 devices (cpu): data 8"),
    "some": (({"data": 2}, 32, 64, 1), "2 devices (cpu): data 2"),
    "both": (({"sequence": 4}, 32, 64, 1), "8 devices (cpu): data 2 × sequence 4"),
    "sharded": (({"sharded": True}, 32, 64, 1), "8 devices (cpu): data 8, sharded parameters"),
    "too many": (
        ({"data": 16}, 32, 64, 1),
        "devices.data=16: 16 × 1 devices are asked for, and there are 8 devices; take 1 to 8",
    ),
    "too long": (({"sequence": 9}, 32, 64, 1), "devices.sequence=9: there are 8 devices; take 1 to 8"),
    "none": (({"sequence": 0}, 32, 64, 1), "devices.sequence=0: there are 8 devices; take 1 to 8"),
    "odd": (
        ({"sequence": 3}, 32, 64, 1),
        "devices.sequence=3: it does not divide 8 devices; take 1, 2, 4, 8, or give devices.data too",
    ),
    "batch": (
        ({}, 20, 64, 1),
        "devices.data=8: a batch of 20 does not divide over 8 devices; take 1, 2, 4, 5, or a batch_size of 16 or 24",
    ),
    "accumulated": (
        ({}, 32, 64, 8),
        "devices.data=8: a batch of 32 in 8 accumulated parts does not divide over 8 devices; take 1, 2, 4, or a "
        "batch_size of 64",
    ),
    "tokens": (
        ({"sequence": 8}, 32, 49, 1),
        "devices.sequence=8: 49 tokens do not divide into 8 equal parts; take 1, 7",
    ),
}


@pytest.fixture(scope="module")
def answers():
    words = json.dumps([case for case, _ in CASES.values()])
    environment = os.environ | {"JAX_NUM_CPU_DEVICES": "8"}
    done = subprocess.run([sys.executable, "-c", ASK, words], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_meshes_fit_or_are_refused_with_numbers_that_would_work(answers, name):
    assert answers[name] == CASES[name][1]


def test_where_processes_meet():
    assert Distributed.parse("auto").kind == "auto"
    assert Distributed.parse("10.0.0.1:1234,4,3") == Distributed("by hand", "10.0.0.1:1234", 4, 3)
    for words in (
        "",
        "on",
        "host",
        "host:1",
        "host:1234,2",
        "host:1234,2,2",
        "host:0,2,0",
        "host:99999,2,0",
        "a b:1,2,0",
    ):
        with pytest.raises(FieldError, match="distributed"):
            Distributed.parse(words)
