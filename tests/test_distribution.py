"""Wheel and sdist: complete, nothing else in them, and they work where there is no repository."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from trove_classifiers import classifiers

from cli.harness import TIMEOUT, TINY
from mttt.version import __version__

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
STEM = f"mttt_jax-{__version__}"
INFO = f"{STEM}.dist-info"


def run(*words, cwd: Path) -> str:
    """What a program prints, without this repository on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(source: Path, out: Path, *options: str) -> Path:
    """Without isolation, as `make dist`: what builds is locked with the rest."""
    run(sys.executable, "-m", "hatchling", "build", "-d", out, *options, cwd=source)
    return out


def packed(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(dist):
    return dist / f"{STEM}-py3-none-any.whl"


@pytest.fixture(scope="module")
def unpacked(dist, tmp_path_factory):
    """The sdist."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(dist / f"{STEM}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    assert [path.name for path in folder.iterdir()] == [STEM]
    return folder / STEM


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A new environment with the wheel in it. Its dependencies are those of this one: new ones would take a minute."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet"]
    run(*pip, "--no-deps", "--no-index", "--no-compile", wheel, cwd=place)
    paths = {sysconfig.get_paths()[name] for name in ("purelib", "platlib")}
    for folder in place.glob("lib/python*/site-packages"):
        # An editable install in there stays out: it is a .pth, too, and those are read in this folder only.
        (folder / "dependencies.pth").write_text("".join(f"{path}\n" for path in paths))
    return place / "bin"


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    found = packed(wheel)
    ours = {name: text for name, text in found.items() if not name.startswith(f"{INFO}/")}
    files = (path for path in (ROOT / "src" / "mttt").rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert ours == {str(path.relative_to(ROOT / "src")): path.read_bytes() for path in files}
    assert {"mttt/py.typed", "mttt/data/pictures/files/digits.npz"} <= set(ours)


def test_the_wheel_says_what_it_is(wheel):
    found = packed(wheel)
    says = Parser().parsestr(found[f"{INFO}/METADATA"].decode())
    assert (says["Name"], says["Version"], says["License-Expression"]) == ("mttt-jax", __version__, "Apache-2.0")
    assert says.get_payload().strip() == (ROOT / "README.md").read_text().strip()
    needed = [line for line in says.get_all("Requires-Dist") if "extra ==" not in line]
    assert len(needed) == len(PROJECT["dependencies"])
    assert b"mttt = mttt.cli.main:main" in found[f"{INFO}/entry_points.txt"]


def test_every_licence_is_in_the_wheel(wheel):
    notices = [
        path for path in (ROOT / "src").rglob("*") if path.name.startswith(("ATTRIBUTION", "LICENSE", "LICENCE"))
    ]
    assert len(notices) >= 2
    found = packed(wheel)
    for path in [ROOT / "LICENSE", *notices]:
        assert found[f"{INFO}/licenses/{path.relative_to(ROOT)}"] == path.read_bytes()


def test_the_sdist_makes_the_same_wheel_and_can_be_tested(unpacked, wheel, tmp_path):
    again = build(unpacked, tmp_path, "-t", "wheel") / wheel.name
    assert packed(again) == packed(wheel)
    tests = {path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py")}
    assert tests == {path.relative_to(unpacked) for path in (unpacked / "tests").rglob("*.py")}
    for name in (
        "Makefile",
        "requirements.lock",
        "requirements-dev.lock",
        "CHANGELOG.md",
        "LICENSE",
        "results/digits.md",
    ):
        assert (unpacked / name).read_bytes() == (ROOT / name).read_bytes()
    assert not list(unpacked.rglob("__pycache__"))
    assert not (unpacked / ".venv").exists()


def test_the_wheel_trains_where_there_is_no_repository(installed, tmp_path):
    where = run(installed / "python", "-c", "import mttt; print(mttt.__file__)", cwd=tmp_path)
    assert Path(where).is_relative_to(installed.parent)
    assert run(installed / "mttt", "--version", cwd=tmp_path) == f"mttt {__version__}\n"
    said = run(installed / "mttt", "train", "digits", *TINY, "--epochs", "0.1", "--run", "run", cwd=tmp_path)
    assert "Accuracy" in said
    assert (tmp_path / "run" / "result.json").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_classifiers_are_those_of_the_index():
    assert set(PROJECT["classifiers"]) <= classifiers
    assert len(set(PROJECT["keywords"])) == len(PROJECT["keywords"])
