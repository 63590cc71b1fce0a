"""Where cases take place.

DIR/stock has what cases copy, DIR/programs compiled programs, DIR/beside files that nobody should touch, and
DIR/cases/NAME what one case does.
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from fuzz.fork import run_forked
from fuzz.watch import fingerprint

SECONDS = 30  # until a case is asked to stop


class Case(NamedTuple):
    """What to do one after the other, each in a process of its own, and how to say it."""

    works: list[Callable[[], object]]
    story: str


class Kind(Protocol):
    """A kind of cases."""

    def prepare(self, ground: "Ground") -> None:
        """Make what cases copy."""
        ...

    def case(self, rng: random.Random, here: Path, ground: "Ground") -> Case:
        """Make the files of a case."""
        ...


class Result(NamedTuple):
    failure: str | None
    story: str
    codes: list[int]


class Ground:
    """A directory for cases."""

    def __init__(self, directory: Path):
        self.stock, self.programs, self.beside, self.cases = (
            directory / name for name in ("stock", "programs", "beside", "cases")
        )
        self.directory = directory
        for folder in (self.stock, self.programs, self.beside / "8", self.beside / "empty", self.cases):
            folder.mkdir(parents=True, exist_ok=True)
        for file in ("precious.txt", "8/state"):
            (self.beside / file).write_text("not yours\n" * 100)

    def make(self, name: str, work: Callable[[], object]) -> Path:
        """Something in the stock, if it is not there yet."""
        home = self.stock / name
        if not home.exists():
            failure, _ = run_forked(work, home, may_write=(self.programs,), seconds=300)
            said = (home / "err").read_text()
            if failure is not None or said:
                shutil.rmtree(home)
                raise SystemExit(f"{name} could not be made: {failure}\n{said}")
        return home / "here"

    def run(self, kind: Kind, name: str) -> Result:
        """One case: all that is random in it is drawn from its name."""
        home = self.cases / name
        if home.exists():
            shutil.rmtree(home)
        here = home / "here"
        here.mkdir(parents=True)
        case = kind.case(random.Random(name), here, self)
        before = fingerprint(self.directory, (home, self.programs))
        failure, codes = None, []
        for work in case.works:
            failure, code = run_forked(work, home, may_write=(self.programs,), seconds=SECONDS)
            codes.append(code)
            if failure is not None:
                break
        if fingerprint(self.directory, (home, self.programs)) != before:
            failure = f"{failure or ''} changed files outside of its directory".strip()
        if failure is None:
            shutil.rmtree(home)
            return Result(None, case.story, codes)
        return Result(failure, f"{case.story}\n{_last(home)}", codes)


def _last(home: Path) -> str:
    """The end of what it said."""
    lines = (home / "err").read_text(errors="replace").splitlines() or (home / "out").read_text().splitlines()
    return "\n".join(f"  | {line[:300]}" for line in lines[-6:])
