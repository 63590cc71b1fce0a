"""The examples run and say what they should, and the README's example is one of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ARGUMENTS = {"variable_lengths.py": ["40"], "plain_jax_loop.py": ["--figure"]}  # a figure takes a second: one is enough
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def run(path: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, path, *arguments], capture_output=True, text=True, timeout=180, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_same(printed: str, stored: str):
    """Words are equal, and numbers are close: another processor rounds differently."""
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", stored)
    for found, expected in zip(NUMBER.findall(printed), NUMBER.findall(stored), strict=True):
        assert float(found) == pytest.approx(float(expected), rel=0.1, abs=2e-6), (found, expected)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_print_what_the_site_shows(path, tmp_path):
    arguments = ARGUMENTS.get(path.name, [])
    figure = tmp_path / "figure.svg"
    printed = run(path, *arguments, *([str(figure)] if "--figure" in arguments else []))
    assert_same(printed, (ROOT / "examples" / "outputs" / f"{path.stem}.txt").read_text())
    assert figure.exists() == ("--figure" in arguments)


def test_every_output_has_its_example():
    made = {path.stem for path in EXAMPLES}
    assert {path.stem for path in (ROOT / "examples" / "outputs").iterdir()} == made


def test_other_words_and_other_numbers_are_noticed():
    assert_same("loss 1.00", "loss 1.01")
    for other in ("loss 1.3", "gain 1.0", "loss nan", "loss 1.0 2"):
        with pytest.raises(AssertionError):
            assert_same(other, "loss 1.0")


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
