"""What people see while a model trains: a moving line in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, RenderableColumn, TextColumn
from rich.spinner import Spinner

from mttt.cli.say import say
from mttt.runs import Record

Tell = Callable[[Record], str]


def numbers(record: Record) -> str:
    """What a record says, for people, in few columns; `/s` are examples."""
    parts = [f"loss {record['loss']:.4f}", f"accuracy {record['accuracy']:5.1%}"]
    if record["examples_per_second"] is not None:
        parts.append(f"{record['examples_per_second']:.0f}/s")
    return "  ".join(parts)


def _skipped(record: Record) -> str:
    return f"skipped {record['name']}: {record['reason']}"


def duration(seconds: float) -> str:
    """Hours, minutes, seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


class Pace:
    """When a training will be done, from the steps of this process after its first: that one compiles."""

    def __init__(self, steps: int):
        self.steps, self.step, self.calls = steps, 0, 0
        self.begin, self.first = 0.0, 0

    def at(self, step: int) -> None:
        self.step, self.calls = step, self.calls + 1
        if self.calls <= 2:  # before the first step, and after it
            self.begin, self.first = time.monotonic(), step

    def left(self) -> str:
        """`ETA 0:01:30`; nothing while there is nothing to tell it from."""
        if (done := self.step - self.first) < 1:
            return ""
        return f"ETA {duration((time.monotonic() - self.begin) / done * (self.steps - self.step))}"


class Lines:
    """Plain lines, for files and pipes."""

    def __init__(self, console: Console, steps: int, evaluation_name: str, tell: Tell):
        self.console, self.steps, self.evaluation_name, self.tell = console, steps, evaluation_name, tell
        self.pace = Pace(steps)

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None: ...

    def at(self, step: int) -> None:
        self.pace.at(step)

    def record(self, record: Record) -> None:
        if record["kind"] == "skipped":
            say(self.console, _skipped(record))
            return
        head = f"{record['step']:>{len(str(self.steps))}}/{self.steps}  epoch {record['epoch']:4.1f}"
        if record["kind"] == "evaluation":
            say(self.console, f"{head}  {self.evaluation_name:5}  {self.tell(record)}")
        else:
            say(self.console, f"{head}  train  {self.tell(record)}  {self.pace.left()}".rstrip())


class Bar:
    """A progress bar with the newest numbers, and a line for each evaluation above it."""

    def __init__(
        self, console: Console, steps: int, evaluation_name: str, tell: Tell, evaluate_every: int | None = None
    ):
        self.evaluation_name, self.tell, self.pace = evaluation_name, tell, Pace(steps)
        self.steps, self.evaluate_every, self.newest = steps, evaluate_every or steps, "compiling …"
        # The numbers stand still while something compiles, and after the last step.
        self.turning = RenderableColumn(Spinner("dots"))
        columns = (
            self.turning,
            BarColumn(bar_width=None),  # what the others leave
            MofNCompleteColumn(),
            TextColumn("{task.fields[numbers]}"),
            TextColumn("{task.fields[left]}"),
        )
        self.progress = Progress(*columns, console=console, expand=True)
        self.task = self.progress.add_task("", total=steps, numbers=self.newest, left="")

    doing = ""
    """what is more worth knowing than the newest numbers"""

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.turning.renderable = " "
        with suppress(OSError):  # the terminal may be gone, and why the training ends is more important
            self.progress.stop()

    def at(self, step: int) -> None:
        self.pace.at(step)
        if self.pace.calls == 2:  # after the first step
            self.newest = ""
        due = self.pace.calls > 1 and (step == self.steps or step % self.evaluate_every == 0)
        self.doing = "evaluating …" if due else ""
        self.progress.update(self.task, completed=step, left=self.pace.left(), numbers=self.doing or self.newest)

    def record(self, record: Record) -> None:
        if record["kind"] == "train":
            self.newest = self.tell(record)
            self.progress.update(self.task, numbers=self.doing or self.newest)
        elif record["kind"] == "skipped":
            say(self.progress.console, _skipped(record))
        else:
            line = f"epoch {record['epoch']:4.1f}  {self.evaluation_name}  {self.tell(record)}"
            say(self.progress.console, line)
            self.progress.update(self.task, numbers=self.newest)


def progress(
    console: Console, steps: int, evaluation_name: str, tell: Tell = numbers, evaluate_every: int | None = None
) -> Lines | Bar:
    """What fits the place that the output goes to. `tell` says what a record says."""
    if console.is_terminal:
        return Bar(console, steps, evaluation_name, tell, evaluate_every)
    return Lines(console, steps, evaluation_name, tell)
