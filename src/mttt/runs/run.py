"""What a run leaves on disk, written here and read here.

recipe.json      everything that was asked for, what the data were, and the versions that ran it
metrics.jsonl    training and evaluation, line by line
checkpoints/     to resume from, and the trained model
result.json      the last evaluation; its presence means that the run is finished
figures/         pictures, if matplotlib is there
"""

import fcntl
import json
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from mttt.files import write_json
from mttt.runs.checkpoints import Checkpoints
from mttt.runs.metrics import Metrics
from mttt.version import __version__

FORMAT = 2
"""of a run; runs of mttt 0.1 have no number"""


class RunError(Exception):
    """A run that is not there, is in use, or is another one than was asked for."""


class InUse(RunError):
    """Another process trains the run."""


def versions() -> dict[str, str]:
    """What decides the numbers besides the recipe."""
    packages = ("jax", "jaxlib", "equinox", "optax", "grain", "numpy")
    return {"python": platform.python_version(), "mttt": __version__} | {name: version(name) for name in packages}


def machine() -> str:
    """What kind of machine this is, for people: its accelerators, or else its processors."""
    devices = jax.devices()
    if devices[0].platform != "cpu":
        return f"{len(devices)} × {devices[0].device_kind}"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        kind = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        kind = platform.processor() or platform.machine()
    return f"{os.cpu_count()} × {kind}"


class Run:
    """A directory with a recipe in it."""

    def __init__(self, path: Path):
        self.path = path
        self.metrics = Metrics(path / "metrics.jsonl")
        self.figures = path / "figures"

    @classmethod
    def create(cls, path: Path, recipe: dict[str, Any], data: dict[str, Any]) -> "Run":
        """A new run, and what its data are. The directory appears with its recipe in it, or not at all."""
        if path.exists():
            raise RunError(f"{path} exists already")
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        beside.mkdir(parents=True)
        header = {"recipe": recipe, "versions": versions(), "machine": machine(), "data": data}
        write_json(beside / "recipe.json", {"format": FORMAT, **header})
        try:
            beside.rename(path)
        except OSError as error:  # another process was faster
            shutil.rmtree(beside)
            raise RunError(f"{path} exists already") from error
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "Run":
        """A run that is there."""
        if not (path / "recipe.json").is_file():
            what = "is not a run: it has no recipe.json" if path.exists() else "does not exist"
            near = sorted(str(p.parent) for p in Path("runs").glob("*/recipe.json")) if Path("runs").is_dir() else []
            hint = f"; runs here: {', '.join(near)}" if near else ""
            raise RunError(f"{path} {what}{hint}")
        run = cls(path)
        run._header()
        return run

    def _header(self) -> dict[str, Any]:
        path = self.path / "recipe.json"
        try:
            header = json.loads(path.read_text(encoding="utf-8"))
            found = header.get("format")
            if found != FORMAT and "recipe" in header:
                whose = "mttt 0.1, and mttt 0.1 reads it" if found is None else f"another mttt (format {found})"
                raise RunError(f"{self.path} is a run of {whose}; this version reads runs of format {FORMAT}")
            return {name: header[name] for name in ("recipe", "versions", "machine", "data")}
        except (json.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
            raise RunError(f"{path} is not the recipe of a run: {error}") from error

    @property
    def recipe(self) -> dict[str, Any]:
        return self._header()["recipe"]

    @property
    def versions(self) -> dict[str, str]:
        return self._header()["versions"]

    @property
    def machine(self) -> str:
        """Where the run began."""
        return self._header()["machine"]

    @property
    def data(self) -> dict[str, Any]:
        """What the data were when the run began."""
        return self._header()["data"]

    @property
    def result(self) -> dict[str, Any] | None:
        """The last evaluation, if the run is finished."""
        path = self.path / "result.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def finish(self, result: dict[str, Any]) -> None:
        write_json(self.path / "result.json", result)

    def no_checkpoint(self) -> RunError:
        """The error for who wants a model that is not there yet."""
        return RunError(f"{self.path} has no checkpoint yet; train it first")

    @contextmanager
    def checkpoints(self, *, write: bool = False) -> Iterator[Checkpoints]:
        """To read, also while another process trains the run; or to write, for the process that trains it."""
        if not write and not (self.path / "checkpoints").is_dir():
            raise self.no_checkpoint()
        checkpoints = Checkpoints(self.path / "checkpoints", write=write)
        try:
            yield checkpoints
        finally:
            checkpoints.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process trains a run. The lock goes with the process, however it ends."""
        with (self.path / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InUse(f"{self.path} is being trained by another process") from error
            yield
