"""A training step does not depend on the devices that it runs on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MIXERS = [
    "self-attention",
    "linear-attention",
    "elu-linear-attention",
    "linformer",
    "longformer",
    "soft",
    "hyena",
    "nadaraya-watson",
    "mttt-linear",
    "mttt-mlp",
    "mttt-mlp-t4",
    "mttt-mlp-sgd4",
]
SPLIT = ("linear-attention", "elu-linear-attention", "mttt-linear", "mttt-mlp", "mttt-mlp-t4", "mttt-mlp-sgd4")


@pytest.mark.parametrize("mixer", MIXERS)
def test_a_step_on_eight_devices_is_the_step_on_one(mixer):
    """Loss, gradient and inner losses. With mini-batches, against those that are drawn in each part of the tokens."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("steps.py"), mixer], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(rows) == 5
    for row in rows:
        assert row["loss"] < 1e-5, row
        assert row["gradient"] < 1e-5, row
        assert row["inner"] is None or row["inner"] < 1e-5, row
        assert row["reduced"], row  # the devices do work together
        if mixer in SPLIT and "sharded" not in row["placement"]:
            assert row["gathered"] < 8 * 16 * 4, row  # less than the tokens of a part of one input
