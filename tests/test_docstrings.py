"""Each public name says what it is, what it takes and what it gives, and shows it by an example that runs."""

import doctest
import inspect
import re
from dataclasses import replace
from pathlib import Path

import jax
import pytest

import mttt
from mttt import public
from mttt.data import describe, training_batches
from mttt.recipes import PRESETS, encode
from mttt.runs import Run
from mttt.training import prepare

PUBLIC = {name: getattr(mttt, name) for name in sorted([*vars(public), "load"]) if not name.startswith("_")}
NAMES = [name for name, thing in PUBLIC.items() if not inspect.ismodule(thing)]
VALUES = [name for name in NAMES if isinstance(getattr(mttt, name), mttt.Size)]
DOCUMENTED = [name for name in NAMES if name not in VALUES]
CLASSES = [name for name in DOCUMENTED if isinstance(getattr(mttt, name), type)]
SECTIONS = "Arguments|Fields|Returns|To implement|Example|Reference"
LONGEST = 36


def sections(name: str) -> dict[str, str]:
    """The text of each section of a docstring."""
    parts = re.split(rf"^({SECTIONS}):", inspect.cleandoc(getattr(mttt, name).__doc__), flags=re.M)
    found = list(zip(parts[1::2], parts[2::2], strict=True))
    assert len(dict(found)) == len(found), "a section is there twice"
    return {"": parts[0], **dict(found)}


def parameters(name: str) -> list[str]:
    """What it is called with. A type of structures is never called."""
    thing = getattr(mttt, name)
    return [] if getattr(thing, "_is_protocol", False) else list(inspect.signature(thing).parameters)


def to_implement(thing: type) -> set[str]:
    """Methods and fields that a class leaves to its subclasses."""
    return {*getattr(thing, "__abstractmethods__", ()), *getattr(thing, "__abstractvars__", ())}


def expected_sections(name: str) -> set[str]:
    thing = getattr(mttt, name)
    wanted = {"", "Example"}
    if parameters(name):
        wanted.add("Fields" if hasattr(thing, "_fields") else "Arguments")
    if inspect.isfunction(thing):
        wanted.add("Returns")
    if isinstance(thing, type) and (to_implement(thing) or getattr(thing, "_is_protocol", False)):
        wanted.add("To implement")
    if "et al." in thing.__doc__:
        wanted.add("Reference")
    return wanted


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_docstring_has_the_sections_of_its_kind(name):
    text = getattr(mttt, name).__doc__
    assert text and "class that is" not in text
    first, *rest = inspect.cleandoc(text).splitlines()
    assert first.endswith((".", ":")) and rest[0] == "" and len(rest) < LONGEST
    assert sections(name).keys() - {"Reference"} == expected_sections(name) - {"Reference"}
    assert expected_sections(name) <= sections(name).keys()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_parameter_is_described_and_no_other(name):
    found = sections(name)
    listed = re.findall(r"^- (\w+): \S", found.get("Arguments", found.get("Fields", "")), re.M)
    assert listed == parameters(name)


@pytest.mark.parametrize("name", CLASSES)
def test_what_a_subclass_has_to_implement_is_named(name):
    text = sections(name).get("To implement", "")
    for member in to_implement(getattr(mttt, name)):
        assert re.search(rf"`{member}\b", text), member


@pytest.mark.parametrize("name", DOCUMENTED)
def test_references_can_be_found(name):
    for source in filter(None, sections(name).get("Reference", "").split(";")):
        assert re.search(r"et al\. \(\d{4}\)", source)
        assert re.search(r"arXiv\s+\d{4}\.\d{5}|GPT-2", source)


def members(thing: type) -> list[str]:
    """Methods and properties that users call and the package defines."""
    found = []
    for kind in (kind for kind in thing.__mro__ if kind.__module__.startswith("mttt.")):
        for name, member in vars(kind).items():
            known = callable(member) or isinstance(member, property | classmethod | staticmethod)
            if known and (name == "__call__" or not name.startswith("_")) and not isinstance(member, type):
                found.append(name)
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_methods_are_documented(name):
    """Here, or in the class that says what its subclasses implement."""
    thing = getattr(mttt, name)
    for member in members(thing):
        assert any(getattr(vars(kind).get(member), "__doc__", None) for kind in thing.__mro__), member


def test_methods_are_found():
    assert {"__call__", "start", "go_on", "make_room", "trace", "vocabulary"} <= set(members(mttt.LM))


@pytest.mark.parametrize("name", VALUES)
def test_sizes_are_listed(name):
    value = re.escape(str(tuple(getattr(mttt, name))))
    assert re.search(rf"`{name}`( is)? {value}", mttt.Size.__doc__)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory that an example may look into."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_run(path: Path) -> None:
    """A run that has not learned anything yet."""
    recipe = PRESETS["digits"].recipe
    recipe = replace(recipe, model=replace(recipe.model, dim=8, depth=1, patch=4))
    data = recipe.data.load()
    run, prepared = Run.create(path, encode(recipe), describe(data)), prepare(recipe, data)
    with training_batches(data.train, 32, seed=0) as batches, run.checkpoints(write=True) as checkpoints:
        checkpoints.save(0, prepared.state(), batches.get_state())


def run_example(name: str) -> None:
    """Runs the example of a docstring alone: all that it needs is in it."""
    test = doctest.DocTestParser().get_doctest(getattr(mttt, name).__doc__, {"__name__": name}, name, None, None)
    said = []
    result = doctest.DocTestRunner().run(test, out=said.append)
    assert result.attempted > 1 and not result.failed, "".join(said)


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if name != "load"])
def test_examples_run(name):
    run_example(name)


def test_the_example_of_load_runs(here):
    with jax.numpy_dtype_promotion("standard"):  # Optax promotes dtypes
        make_run(Path("runs/digits"))
        run_example("load")
