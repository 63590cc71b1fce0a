"""What people see while a grid is worked through: which run it is, its numbers, and when everything will be done."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from mttt.cli.progress import duration, numbers
from mttt.runs import Record
from mttt.studies import Work
from mttt.training import Observer

QUIET = 30.0  # seconds between lines about one run, where there is no terminal


class _Run:
    """The observer of one run: tells the grid how far it is."""

    def __init__(self, grid: "GridProgress", job: Work, weight: float, steps: int, evaluation_name: str):
        self.grid, self.job, self.weight, self.steps, self.evaluation_name = grid, job, weight, steps, evaluation_name
        self.started = time.monotonic()
        self.first: int | None = None
        self.step = 0

    @property
    def worked(self) -> float:
        """What was done in this process: a run that goes on was partly done before."""
        return 0.0 if self.first is None else self.weight * (self.step - self.first) / self.steps

    @property
    def left(self) -> float:
        return self.weight * (1 - self.step / self.steps)

    def at(self, step: int) -> None:
        if self.first is None:
            self.first = step
        self.step = step
        self.grid.show()

    def record(self, record: Record) -> None:
        if record["kind"] == "skipped":
            self.grid.say(f"skipped {record['name']}: {record['reason']}")
            return
        self.grid.newest = f"step {record['step']}/{self.steps}  {numbers(record)}"
        if record["kind"] == "evaluation":
            self.grid.line(f"    {self.evaluation_name}  {self.grid.newest}")
        else:
            self.grid.show(line=True)


class GridProgress:
    """A bar that moves in a terminal; now and then a line elsewhere."""

    run: _Run | None = None
    """the one that is being trained"""

    def __init__(self, console: Console):
        self.console, self.newest, self.title = console, "", ""
        self.todo: dict[Work, float] = {}
        """weights of the jobs that wait"""
        self.paces: dict[str, float] = {}
        """seconds per weight of the rows that were trained in this process"""
        self.total, self.worked = 1.0, 0.0
        self.started = self.spoken = time.monotonic()
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} %"),
            TextColumn("{task.fields[numbers]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("starting", total=1.0, numbers="")

    def begin(self, left: Mapping[Work, float], total: float) -> None:
        self.todo, self.total = dict(left), total
        self.started = time.monotonic()
        self.runs = len(left)
        runs = "1 run" if len(left) == 1 else f"{len(left)} runs"
        done = 1 - sum(left.values()) / total
        self.say(f"{runs} to do; {done:.0%} of the work is done already." if left else "All is done.")

    def job(self, job: Work, steps: int, evaluation_name: str) -> Observer:
        self.title, self.newest = f"run {self.runs - len(self.todo) + 1} of {self.runs}: {job}", "compiling …"
        self.run = _Run(self, job, self.todo.pop(job), steps, evaluation_name)
        self.line(f"{self.title}  {self.left()}")
        self.show()  # before anything is compiled
        return self.run

    def finished(self, job: Work, accuracy: float | None) -> None:
        assert self.run is not None
        self.worked += self.run.worked
        if self.run.first == 0 and accuracy is not None:
            self.paces[job.row.name] = (time.monotonic() - self.run.started) / self.run.weight
        self.run = None
        result = "diverged" if accuracy is None else f"accuracy {accuracy:.2%}"
        self.say(f"    {job}: {result}  {self.left()}")

    def left_to_others(self, job: Work) -> None:
        self.run = None

    def left(self) -> str:
        """When all will be done: rows go at the pace of their other seeds, or else at that of all so far."""
        worked = self.worked + (self.run.worked if self.run else 0.0)
        if worked <= 0:
            return ""
        overall = (time.monotonic() - self.started) / worked
        rest = list(self.todo.items()) + ([(self.run.job, self.run.left)] if self.run else [])
        seconds = sum((weight * self.paces.get(job.row.name, overall) for job, weight in rest), 0.0)
        return f"all done in {duration(seconds)}"

    def show(self, *, line: bool = False) -> None:
        """Move the bar; or say a line, if there is none and nothing was said for a while."""
        if self.console.is_terminal:
            rest = sum(self.todo.values()) + (self.run.left if self.run else 0.0)
            words = f"{self.newest}  {self.left()}"
            self.bar.update(self.task, completed=1 - rest / self.total, description=self.title, numbers=words)
        elif line and time.monotonic() - self.spoken > QUIET:
            self.line(f"    {self.newest}  {self.left()}")

    def line(self, words: str) -> None:
        """What a terminal's bar shows anyway."""
        if not self.console.is_terminal:
            self.say(words)

    def say(self, words: str) -> None:
        """A line that stays."""
        self.spoken = time.monotonic()
        self.bar.console.print(words, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def watch(console: Console) -> Iterator[GridProgress]:
    """Progress while the block runs."""
    progress = GridProgress(console)
    with progress.bar:
        yield progress
