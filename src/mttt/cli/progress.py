"""What people see while a model trains: a moving line in a terminal, plain lines elsewhere."""

import time
from contextlib import suppress
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mttt.runs import Record


def numbers(record: Record) -> str:
    """What a record says, for people."""
    parts = [f"loss {record['loss']:.4f}", f"accuracy {record['accuracy']:6.1%}"]
    if record["examples_per_second"] is not None:
        parts.append(f"{record['examples_per_second']:.0f} examples/s")
    return "  ".join(parts)


def _skipped(record: Record) -> str:
    return f"skipped {record['name']}: {record['reason']}"


def duration(seconds: float) -> str:
    """Hours, minutes, seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


class Lines:
    """Plain lines, for files and pipes."""

    def __init__(self, console: Console, steps: int, evaluation_name: str):
        self.console, self.steps, self.evaluation_name = console, steps, evaluation_name

    def __enter__(self) -> "Lines":
        self.begin, self.first, self.calls = 0.0, 0, 0
        return self

    def __exit__(self, *_: object) -> None: ...

    def at(self, step: int) -> None:
        self.calls += 1
        if self.calls <= 2:  # before the first step and after it: that step compiles, and tells nothing of the others
            self.first, self.begin = step, time.monotonic()

    def record(self, record: Record) -> None:
        if record["kind"] == "skipped":
            self.console.print(_skipped(record), soft_wrap=True, highlight=False, markup=False)
            return
        step = record["step"]
        done = step - self.first
        left = (time.monotonic() - self.begin) / done * (self.steps - step) if done else 0
        kind = self.evaluation_name if record["kind"] == "evaluation" else "train"
        head = f"step {step:>{len(str(self.steps))}}/{self.steps}  epoch {record['epoch']:6.2f}"
        self.console.print(
            f"{head}  {kind:5}  {numbers(record)}  ETA {duration(left)}", soft_wrap=True, highlight=False
        )


class Bar:
    """A progress bar with the newest numbers, and a line for each evaluation above it."""

    def __init__(self, console: Console, steps: int, evaluation_name: str):
        self.evaluation_name = evaluation_name
        columns = (
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[numbers]}"),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
        )
        self.progress = Progress(*columns, console=console)
        self.task = self.progress.add_task("", total=steps, numbers="compiling …")

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the terminal may be gone, and why the training ends is more important
            self.progress.stop()

    def at(self, step: int) -> None:
        self.progress.update(self.task, completed=step)

    def record(self, record: Record) -> None:
        if record["kind"] == "train":
            self.progress.update(self.task, numbers=numbers(record))
        elif record["kind"] == "skipped":
            self.progress.console.print(_skipped(record), highlight=False, markup=False)
        else:
            line = f"epoch {record['epoch']:6.2f}  {self.evaluation_name}  {numbers(record)}"
            self.progress.console.print(line, highlight=False)


def progress(console: Console, steps: int, evaluation_name: str) -> Lines | Bar:
    """What fits the place that the output goes to."""
    return (Bar if console.is_terminal else Lines)(console, steps, evaluation_name)
