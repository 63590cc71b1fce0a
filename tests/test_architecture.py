"""Imports go one way, so a cycle cannot appear unnoticed."""

import ast
from pathlib import Path

import pytest

import mttt

ROOT = Path(mttt.__file__).parent
# Each room, and the rooms it may import from.
BELOW = {
    "nn": set(),
    "fields": set(),
    "files": set(),
    "devices": {"fields", "nn"},
    "data": {"files"},
    "runs": {"files", "devices"},
    "count": set(),
    "inner": {"nn"},
    "mixers": {"inner", "nn"},
    "models": {"mixers", "inner", "nn"},
    "outer": {"nn"},
    "report": {"files", "runs"},
    "tracking": {"files"},
    "recipes": {"fields", "files", "outer", "models", "mixers", "inner", "nn", "data", "runs"},
    "training": {"fields", "files", "devices", "recipes", "outer", "nn", "data", "runs"},
    "bench": {
        "files",
        "devices",
        "training",
        "outer",
        "recipes",
        "count",
        "models",
        "mixers",
        "inner",
        "nn",
        "data",
        "runs",
        "watch",
    },
    "studies": {
        "fields",
        "files",
        "training",
        "report",
        "bench",
        "count",
        "recipes",
        "outer",
        "models",
        "mixers",
        "inner",
        "nn",
        "data",
        "runs",
    },
    "watch": {"fields", "files", "training", "recipes", "models", "mixers", "inner", "nn", "data", "runs"},
    "cli": {
        "fields",
        "files",
        "devices",
        "training",
        "bench",
        "studies",
        "watch",
        "recipes",
        "report",
        "tracking",
        "outer",
        "models",
        "mixers",
        "data",
        "runs",
    },
}
# Rooms inside a room, which the files around them do not know: a new kind of data changes none of what all kinds share.
KINDS = {"data": {"pictures", "text"}}
# Files beside the rooms: what Python and packaging want there.
DOORS = {"__init__", "__main__", "public", "version"}
FILES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def imports(source: str, file: Path) -> set[str]:
    """Everything of the package that a file imports, anywhere in it, by its full name; "mttt" is the package itself."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            # A name may be a module or be in one: from mttt.data import pictures, from mttt.data import Batch.
            module = _absolute(node, file)
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "mttt"}


def _absolute(node: ast.ImportFrom, file: Path) -> str:
    here = ("mttt", *file.parts)[: -node.level] if node.level else ()
    return ".".join((*here, *(node.module or "").split("."))).strip(".")


def wrong(source: str, file: Path) -> list[str]:
    """What a file of the package imports, and may not."""
    if len(file.parts) == 1:  # a door
        return []
    room, kind = file.parts[0], file.parts[1]
    allowed = BELOW[room] | {room, "version"}
    kinds = KINDS.get(room, set())
    found = []
    for name in sorted(imports(source, file)):
        parts = name.split(".")
        if len(parts) < 2 or parts[1] not in BELOW.keys() | DOORS:
            found.append(f"{file} imports {name}: the package itself stands above all rooms")
        elif parts[1] not in allowed:
            found.append(f"{file} imports {name}: {parts[1]} is not below {room}")
        elif parts[1] == room and len(parts) > 2 and parts[2] in kinds - {kind}:
            found.append(f"{file} imports {name}: what all kinds share does not know one of them")
    return found


def test_every_file_is_in_a_room():
    assert {file.stem for file in FILES if len(file.parts) == 1} == DOORS
    assert {file.parts[0] for file in FILES if len(file.parts) > 1} == set(BELOW)
    for room, kinds in KINDS.items():
        assert kinds == {file.parts[1] for file in FILES if file.parts[0] == room and len(file.parts) > 2}


@pytest.mark.parametrize("file", FILES, ids=str)
def test_imports_follow_the_walk(file):
    assert wrong((ROOT / file).read_text(), file) == []


@pytest.mark.parametrize(
    ("file", "line", "may"),
    [
        ("data/pictures/augment/flip.py", "from mttt.outer import train", False),
        ("data/pictures/augment/flip.py", "from mttt.data.batch import Batch", True),
        ("data/pictures/augment/flip.py", "from ...batch import Batch", True),
        ("data/pictures/augment/flip.py", "from ....outer import train", False),
        ("data/pipeline.py", "from mttt.data.pictures import to_float", False),
        ("data/pipeline.py", "from mttt.data import pictures", False),
        ("data/pipeline.py", "import mttt.data.pictures.view", False),
        ("data/pipeline.py", "from .pictures import to_float", False),
        ("data/__init__.py", "from mttt.data.pictures import to_float", False),
        ("training/prepare.py", "from mttt.data.pictures import to_float", True),
        ("outer/step.py", "import mttt", False),
        ("outer/step.py", "from mttt import TTT", False),
        ("outer/step.py", "from mttt import cli", False),
        ("training/prepare.py", "from mttt import data", True),
        ("outer/step.py", "from mttt import data", False),
        ("outer/step.py", "def late():\n    from mttt.cli import main", False),
        ("cli/bench.py", "from mttt import bench", True),
        ("cli/bench.py", "from mttt.version import __version__", True),
        ("cli/bench.py", "import jax, mtttx", True),
    ],
)
def test_a_wrong_import_is_seen(file, line, may):
    assert (wrong(line, Path(file)) == []) is may


def test_the_rooms_have_an_order():
    def above(room, seen=()):
        assert room not in seen, f"{room} imports itself, through {seen}"
        for below in BELOW[room]:
            above(below, (*seen, room))

    for room in BELOW:
        above(room)


def described(node: ast.FunctionDef) -> int:
    """The lines of a function's docstring."""
    first = node.body[0]
    return first.end_lineno - first.lineno + 1 if ast.get_docstring(node) else 0


def test_files_and_functions_are_short():
    """A file has one concept and a function one job: at most 300 and 60 lines, of these without the docstring."""
    long = []
    for path in ROOT.rglob("*.py"):
        text = path.read_text()
        if len(text.splitlines()) > 300:
            long.append(str(path.relative_to(ROOT)))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno - described(node) >= 60:
                long.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert long == []


def test_each_class_name_is_one_thing():
    """No two rooms define a public class of the same name, unless it is what every command calls its arguments."""
    places = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name != "Arguments":
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
