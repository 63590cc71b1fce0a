"""What a run leaves on disk, written here and read here.

recipe.json      everything that was asked for, what the data were, and the versions that ran it
metrics.jsonl    training and evaluation, line by line
checkpoints/     to resume from, and the trained model
result.json      the last evaluation; its presence means that the run is finished
figures/         pictures, if matplotlib is there
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from mttt.devices import ALONE, Company
from mttt.files import temporary, write_json
from mttt.runs.checkpoints import Checkpoints, steps_in
from mttt.runs.directory import Hold, refuse_links
from mttt.runs.document import COUNT, LOSSES_OR_NULL, NUMBER_OR_NULL, SHARE, check, read
from mttt.runs.errors import NotWritten, RunError
from mttt.runs.header import new_header, read_header, write_header
from mttt.runs.metrics import Metrics
from mttt.runs.origin import x64

_RESULT = {
    "step": COUNT,
    "accuracy": SHARE,
    "loss": NUMBER_OR_NULL,
    "inner_losses": LOSSES_OR_NULL,
    "examples": COUNT,
    "skipped": COUNT,
}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Run:
    """A directory with a recipe in it."""

    def __init__(self, path: Path, id: str):
        self.path, self.id = path, id
        self.metrics = Metrics(path / "metrics.jsonl")
        self.figures = path / "figures"
        self._hold: Hold | None = None

    @classmethod
    def create(cls, path: Path, recipe: dict[str, Any], data: dict[str, Any]) -> "Run":
        """A new run, and what its data are. The directory appears with its recipe in it, or not at all."""
        if os.path.lexists(path):
            raise RunError(f"{path} exists already")
        beside = temporary(path)
        beside.mkdir(parents=True)
        header = new_header(recipe, data)
        write_header(beside, header)
        try:
            beside.rename(path)
        except OSError as error:  # another process was faster
            shutil.rmtree(beside)
            raise RunError(f"{path} exists already") from error
        return cls(path, header["id"])

    @classmethod
    def open(cls, path: Path) -> "Run":
        """A run that is there."""
        refuse_links(path)
        if not (path / "recipe.json").exists():
            what = "is not a run: it has no recipe.json" if path.exists() else "does not exist"
            near = sorted(str(p.parent) for p in Path("runs").glob("*/recipe.json")) if Path("runs").is_dir() else []
            hint = f"; runs here: {', '.join(near)}" if near else ""
            raise RunError(f"{path} {what}{hint}")
        return cls(path, read_header(path)["id"])

    @property
    def recipe(self) -> dict[str, Any]:
        return read_header(self.path)["recipe"]

    @property
    def versions(self) -> dict[str, str]:
        return read_header(self.path)["versions"]

    @property
    def machine(self) -> str:
        """Where the run began."""
        return read_header(self.path)["machine"]

    @property
    def data(self) -> dict[str, Any]:
        """What the data were when the run began."""
        return read_header(self.path)["data"]

    @property
    def result(self) -> dict[str, Any] | None:
        """The last evaluation, if the run is finished."""
        path = self.path / "result.json"
        try:
            return check(read(path), _RESULT)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise RunError(
                f"{path} {error}; delete it and train the run again, which repeats only its last evaluation"
            ) from error

    def finish(self, result: dict[str, Any]) -> None:
        with self.writing("result.json"):
            write_json(self.path / "result.json", result)

    def no_checkpoint(self) -> RunError:
        """The error for who wants a model that is not there yet."""
        return RunError(f"{self.path} has no checkpoint yet; train it first")

    @contextmanager
    def checkpoints(self, *, write: bool = False, company: Company = ALONE) -> Iterator[Checkpoints]:
        """To read, also while another process trains the run; or to write, for the process that trains it."""
        began = read_header(self.path)["x64"]
        if began != x64():
            raise RunError(
                f"{self.path} began with JAX_ENABLE_X64={int(began)}, and it is {int(x64())} here; "
                f"set JAX_ENABLE_X64={int(began)}, or its numbers would be others"
            )
        refuse_links(self.path)
        folder = self.path / "checkpoints"
        if not write and not folder.is_dir():
            raise self.no_checkpoint()
        with self.writing("checkpoints") if write else nullcontext():
            checkpoints = Checkpoints(folder, self.id, write=write, company=company)
        try:
            yield checkpoints
        finally:
            checkpoints.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process trains a run."""
        hold = Hold(self.path)
        try:
            if read_header(self.path)["id"] != self.id:
                raise NotWritten(f"{self.path} was replaced by another run meanwhile; nothing is written")
            self._hold = hold
            yield
        finally:
            self._hold = None
            hold.close()

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """Around what writes a part of the run: only while the run is still there, and errors say what is kept."""
        self._confirm()
        try:
            yield
        except OSError as error:
            self._confirm()  # an error because the run is gone
            step = next(iter(steps_in(self.path / "checkpoints")), None)
            kept = "There is no checkpoint yet" if step is None else f"The checkpoint of step {step} is whole"
            cure = "make room" if error.errno in _FULL else "remove the cause"
            raise NotWritten(
                f"{self.path / name} cannot be written: {error.strerror or error}. {kept}; {cure}, and the same "
                "command continues from there"
            ) from error
        self._confirm()

    def _confirm(self) -> None:
        if self._hold is not None:
            self._hold.check()
