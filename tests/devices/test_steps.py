"""A training step does not depend on the devices that it runs on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Two processes of several mixers each: starting one takes seconds.
GROUPS = (
    ("mttt-mlp", "linformer", "longformer", "soft", "elu-linear-attention", "nadaraya-watson"),
    ("mttt-linear", "mttt-mlp-t4", "mttt-mlp-sgd4", "self-attention", "linear-attention", "hyena"),
)
SPLIT = ("linear-attention", "elu-linear-attention", "mttt-linear", "mttt-mlp", "mttt-mlp-t4", "mttt-mlp-sgd4")
PART = 8 * 16 * 4  # bytes of the tokens of an eighth of one input


@pytest.mark.parametrize("mixers", GROUPS, ids=lambda names: names[0])
def test_a_step_on_eight_devices_is_the_step_on_one(mixers):
    """Loss, gradient and inner losses. With mini-batches, against those that are drawn in each part of the tokens."""
    script = Path(__file__).with_name("steps.py")
    done = subprocess.run([sys.executable, script, "--quick", *mixers], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert {row["mixer"] for row in rows} == set(mixers)
    for row in rows:
        assert row["loss"] < 1e-5, row
        assert row["gradient"] < 1e-5, row
        assert row["inner"] is None or row["inner"] < 1e-5, row
        assert row["reduced"], row  # the devices do work together
        if row["mixer"] in SPLIT and "sharded" not in row["placement"]:
            assert row["gathered"] < PART, row


def test_accumulated_gradients_are_sent_once():
    """Not once for each part. What the parts of the tokens tell each other stays in the loop."""
    script = Path(__file__).with_name("accumulated.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = {row["placement"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert rows["data 2, sequence 4"]["reduced in the loop"] == rows.pop("sequence 4")["reduced in the loop"]
    for row in rows.values():
        assert row["loss"] < 1e-5 and row["gradient"] < 1e-5, row
        assert row["parameters"] <= row["reduced after it"] < 1.05 * row["parameters"], row
        assert row["gathered"] < (1.05 * row["parameters"] if row["placement"] == "sharded" else 1), row
    for name in ("data 8", "sharded"):
        assert rows[name]["reduced in the loop"] == 0, rows[name]
