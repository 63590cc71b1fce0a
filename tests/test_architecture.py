"""Imports go one way, so a cycle cannot appear unnoticed."""

import ast
from pathlib import Path

import mttt

ROOT = Path(mttt.__file__).parent
# Each room, and the rooms it may import from.
BELOW = {
    "nn": set(),
    "data": set(),
    "runs": set(),
    "count": set(),
    "inner": {"nn"},
    "mixers": {"inner", "nn"},
    "models": {"mixers", "inner", "nn"},
    "outer": {"models", "nn", "data", "runs"},
    "report": {"runs"},
    "recipes": {"outer", "models", "mixers", "inner", "nn", "data", "runs"},
    "bench": {"count", "outer", "models", "mixers", "inner", "nn", "data", "runs"},
    "studies": {"report", "bench", "count", "recipes", "outer", "models", "mixers", "inner", "nn", "data", "runs"},
    "cli": {"inner", "bench", "studies", "recipes", "report", "outer", "mixers", "data", "runs"},
}
# Files beside the rooms: what Python and packaging want there.
DOORS = {"__init__", "__main__", "version"}


def imports(path: Path) -> set[str]:
    """The rooms that a file imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("mttt.")}
    return found


def test_every_file_is_in_a_room():
    loose = {path.stem for path in ROOT.glob("*.py")} - DOORS
    rooms = {path.parent.name for path in ROOT.glob("*/*.py")}
    assert loose == set()
    assert rooms == set(BELOW)


def test_imports_follow_the_walk():
    wrong = [
        f"{path.relative_to(ROOT)} imports {room}"
        for path in ROOT.glob("*/*.py")
        for room in imports(path) - {path.parent.name, "version"} - BELOW[path.parent.name]
    ]
    assert wrong == []


def test_the_rooms_have_an_order():
    def above(room, seen=()):
        assert room not in seen, f"{room} imports itself, through {seen}"
        for below in BELOW[room]:
            above(below, (*seen, room))

    for room in BELOW:
        above(room)
