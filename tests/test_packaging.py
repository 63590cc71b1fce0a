"""The name of the distribution, the version, and what the texts tell people to install."""

import re
import tomllib
from pathlib import Path

import pytest

from mttt.runs import versions
from mttt.version import __version__

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXTS = [ROOT / "README.md", ROOT / "Makefile", *(ROOT / "docs").glob("*.md"), *(ROOT / "results").glob("*.md")]
TEXTS += [path for folder in ("src", "examples") for path in (ROOT / folder).rglob("*.py")]
# The package index has another project under the name mttt.
FOREIGN = re.compile(r"""mttt\[|\binstall\s+["']?mttt(?!-jax)\b""")


def test_the_distribution_has_a_name_of_its_own():
    assert PROJECT["name"] == "mttt-jax"
    assert PROJECT["scripts"] == {"mttt": "mttt.cli.main:main"}
    assert PROJECT["urls"] and PROJECT["authors"]


def test_runs_record_the_version_under_the_name_of_the_import():
    assert versions()["mttt"] == __version__


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_installs_a_package_that_is_not_ours(path):
    found = [line for line in path.read_text().splitlines() if FOREIGN.search(line)]
    assert not found


@pytest.mark.parametrize("words", ['pip install "mttt[plots]"', "pip install mttt", "pip install 'mttt'"])
def test_such_a_line_would_be_found(words):
    assert FOREIGN.search(words)
    assert not FOREIGN.search("pip install mttt-jax")


def test_the_citation_and_the_changelog_know_the_version():
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_paper_is_what_to_cite():
    """The schema was checked by hand: cffconvert --validate."""
    paper = (ROOT / "CITATION.cff").read_text().partition("\npreferred-citation:\n")[2]
    assert "  title: Learning to (Learn at Test Time)\n" in paper
    authors = re.search(r"author  = \{(.*?)\}", (ROOT / "README.md").read_text(), re.S)[1]
    assert re.findall(r"family-names: (.*)", paper) == re.findall(r"([A-Z]\w+),", authors)


def test_pre_commit_runs_what_make_check_does():
    check = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]
    programs = re.findall(r"\$\(BIN\)/(\w+(?: \w+)?)", check)
    assert programs == re.findall(r"\.venv/bin/(\w+(?: \w+)?)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert len(programs) == 3
