"""The commands in the texts exist, with the flags that they are written with."""

import re
from pathlib import Path

import pytest

from mttt.cli.commands import all_commands

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "results").glob("*.md")]
COMMANDS = {one.words: {flag.name for flag in one.flags} for one in all_commands()}
FLAG = re.compile(r"--[a-z][\w.-]*")


def lines(page: str) -> list[str]:
    """Commands that are a line of code, or code inside a line; comments are not part of them."""
    found = re.findall(r"^ *(mttt [a-z].*)|`(mttt [a-z][^`]*)`", page.replace("\\\n", " "), re.M)
    return [line.partition(" #")[0] for pair in found for line in pair if line]


def unknown(line: str) -> list[str]:
    """Words of a line that the program does not know: the command, or its flags."""
    words = [word.strip("[]") for word in line.split()[1:]]
    if words[0] == "help":
        return []
    name = next((tuple(words[:size]) for size in (2, 1) if tuple(words[:size]) in COMMANDS), None)
    if name is None:
        return words[:1]
    return [word for word in words if FLAG.fullmatch(word) and word not in COMMANDS[name] | {"--help"}]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page):
    assert [line for line in lines(page.read_text()) if unknown(line)] == []


def test_commands_are_found_and_wrong_ones_noticed():
    assert sum(len(lines(page.read_text())) for page in PAGES) > 150
    assert lines("    mttt runs  # all\n\nand `mttt watch --port 0`.") == ["mttt runs ", "mttt watch --port 0"]
    assert lines("    mttt train \\\n      --sead 1") == ["mttt train        --sead 1"]
    assert unknown("mttt trian digits") == ["trian"]
    assert unknown("mttt train digits --sead 1") == ["--sead"]
    assert unknown("mttt bench layers --token 1") == ["--token"]
