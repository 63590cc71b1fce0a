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


PAGES = {"README.md": "", "docs/api.md": "## Causal mixers", "docs/sequences.md": "# Sequences"}


def test_the_examples_of_pages_run(tmp_path):
    """Of the README and of two sections on states: each with names of its own, in one process, which takes seconds."""
    codes = {}
    for page, section in PAGES.items():
        text = (ROOT / page).read_text()
        codes[page] = re.search(r"```python\n(.*?)```", text[text.index(section) :], re.S)[1]
    assert len(codes["README.md"].splitlines()) <= 20
    path = tmp_path / "pages.py"
    path.write_text("\n".join(f"exec(compile({code!r}, {page!r}, 'exec'), {{}})" for page, code in codes.items()))
    assert run(path).split() == ["(100,", "48)"]
