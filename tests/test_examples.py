"""The examples run and say what they should, and the README's example is one of them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ARGUMENTS = {"variable_lengths.py": ["40"]}
FIGURE = "plain_jax_loop.py"  # a figure takes a second: one is enough
PAGES = {"README.md": "", "docs/api.md": "## Causal mixers", "docs/sequences.md": "# Sequences"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


# Each with names of its own, in one process: starting one takes as long as many an example.
RUN = """
import contextlib, io, json, runpy, sys, traceback

said = []
for words in json.loads(sys.argv[1]):
    sys.argv, printed, failed = words, io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(words[0], run_name="__main__")
    except BaseException:
        failed = traceback.format_exc()
    said.append((printed.getvalue(), failed))
print(json.dumps(said))
"""


def page(name: str, section: str) -> str:
    """The first example of a section."""
    text = (ROOT / name).read_text()
    return re.search(r"```python\n(.*?)```", text[text.index(section) :], re.S)[1]


@pytest.fixture(scope="module")
def figure(tmp_path_factory):
    return tmp_path_factory.mktemp("figures") / "figure.svg"


@pytest.fixture(scope="module")
def printed(tmp_path_factory, figure) -> dict[str, str]:
    """What each example says, and each page's."""
    words = {path.name: [str(path), *ARGUMENTS.get(path.name, [])] for path in EXAMPLES}
    words[FIGURE] += ["--figure", str(figure)]
    for name, section in PAGES.items():
        path = tmp_path_factory.mktemp("pages") / "page.py"
        path.write_text(page(name, section))
        words[name] = [str(path)]
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps([*words.values()])], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    said = dict(zip(words, json.loads(done.stdout), strict=True))
    return {name: text if failed is None else failed for name, (text, failed) in said.items()}


def assert_same(printed: str, stored: str):
    """Words are equal, and numbers are close: another processor rounds differently."""
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", stored)
    for found, expected in zip(NUMBER.findall(printed), NUMBER.findall(stored), strict=True):
        assert float(found) == pytest.approx(float(expected), rel=0.1, abs=2e-6), (found, expected)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_print_what_the_site_shows(path, printed, figure):
    assert_same(printed[path.name], (ROOT / "examples" / "outputs" / f"{path.stem}.txt").read_text())
    assert figure.exists()


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


def test_the_examples_of_pages_run(printed):
    """Of the README and of two sections on states."""
    assert len(page("README.md", "").splitlines()) <= 20
    assert [printed[name].split() for name in PAGES] == [["(100,", "48)"], [], []]
