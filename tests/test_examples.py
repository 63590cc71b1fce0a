"""The examples run and say what they should, and the README's example is one of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXPECTED = {
    "inner_loop_by_hand.py": r"largest difference of the outputs: (0\.0e\+00|\d\.\de-0[678])",
    "own_learner.py": r"outer gradient of W₀: [1-9]",
    "plain_vit.py": r"plain ViT: accuracy \d",
    "variable_lengths.py": r"compiled for \[34, 48\]\naccuracy after 40 steps: [2-9]\d",
    "own_mixer.py": r"MTTT-MLP +\d+ parameters, logits \(10,\)",
}


ARGUMENTS = {"variable_lengths.py": ["40"]}


def run(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, path, *ARGUMENTS.get(path.name, [])],
        capture_output=True,
        text=True,
        timeout=180,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_here():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_examples_run(name):
    assert re.search(EXPECTED[name], run(ROOT / "examples" / name))


def test_by_hand_is_short():
    assert len((ROOT / "examples" / "inner_loop_by_hand.py").read_text().splitlines()) <= 60


def test_the_readme_example_runs(tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    assert len(code.splitlines()) <= 20
    path = tmp_path / "readme.py"
    path.write_text(code)
    assert run(path).split() == ["(100,", "48)"]


@pytest.mark.parametrize(("page", "section"), [("api.md", "## Causal mixers"), ("sequences.md", "# Sequences")])
def test_the_examples_of_states_run(page, section, tmp_path):
    section = (ROOT / "docs" / page).read_text().partition(section)[2]
    path = tmp_path / "states.py"
    path.write_text(re.search(r"```python\n(.*?)```", section, re.S)[1])
    assert run(path) == ""
