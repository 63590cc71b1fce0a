"""What people see while a grid is worked through: which run it is, its numbers, and when everything will be done."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from mttt.cli.progress import duration, numbers
from mttt.outer import Observer
from mttt.runs import Record
from mttt.studies import Job

QUIET = 30.0  # seconds between lines about one run, where there is no terminal


class _Run:
    """The observer of one run: tells the grid how far it is."""

    def __init__(self, grid: "GridProgress", steps: int, weight: float, evaluation_name: str):
        self.grid, self.steps, self.weight, self.evaluation_name = grid, steps, weight, evaluation_name
        self.first: int | None = None

    def at(self, step: int) -> None:
        if self.first is None:  # a run that goes on was partly done before
            self.first = step
            self.grid.before += self.weight * step / self.steps
        self.grid.current = self.weight * step / self.steps
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

    def __init__(self, console: Console):
        self.console, self.newest, self.title = console, "", ""
        self.before, self.done, self.total, self.current = 0.0, 0.0, 1.0, 0.0
        self.started = self.spoken = time.monotonic()
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} %"),
            TextColumn("{task.fields[numbers]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("starting", total=1.0, numbers="")

    def begin(self, jobs: Sequence[Job], done: float, total: float) -> None:
        self.before, self.done, self.total = done, done, total
        self.started = time.monotonic()
        self.waiting = len(jobs)
        runs = "1 run" if len(jobs) == 1 else f"{len(jobs)} runs"
        self.say(f"{runs} to do; {done / total:.0%} of the work is done already." if jobs else "All is done.")

    def job(self, job: Job, number: int, steps: int, weight: float, evaluation_name: str) -> Observer:
        of = number + self.waiting - 1
        self.waiting -= 1
        self.title, self.newest, self.current = f"run {number} of {of}: {job}", "compiling …", 0.0
        self.line(f"{self.title}  {self.left()}")
        self.run = _Run(self, steps, weight, evaluation_name)
        return self.run

    def finished(self, job: Job, accuracy: float | None) -> None:
        if self.run.first is None:  # nothing was left to train: that tells nothing of what others take
            self.before += self.run.weight
        self.done, self.current = self.done + self.run.weight, 0.0
        result = "diverged" if accuracy is None else f"accuracy {accuracy:.2%}"
        self.say(f"    {job}: {result}  {self.left()}")

    def left_to_others(self, job: Job) -> None:
        self.total, self.current = self.total - self.run.weight, 0.0

    def left(self) -> str:
        """When all will be done, if the rest goes as what was done in this process."""
        worked = self.done + self.current - self.before
        if worked <= 0:
            return ""
        seconds = (time.monotonic() - self.started) * (self.total - self.done - self.current) / worked
        return f"all done in {duration(seconds)}"

    def show(self, *, line: bool = False) -> None:
        """Move the bar; or say a line, if there is none and nothing was said for a while."""
        if self.console.is_terminal:
            fraction = (self.done + self.current) / self.total
            words = f"{self.newest}  {self.left()}"
            self.bar.update(self.task, completed=fraction, description=self.title, numbers=words)
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
