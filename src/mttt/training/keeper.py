"""Where the outer loop meets the disk: records, checkpoints, and what had to be left out of the data."""

import errno
import signal
from collections.abc import Callable, Iterable
from typing import Any, Protocol, runtime_checkable

from mttt.data import BadData, Batches, Skipped
from mttt.devices import ALONE, Company, done_by_first
from mttt.outer import Interrupt, Plan, State
from mttt.runs import Checkpoints, Record, Run, RunError
from mttt.training.shared import SharedBatches


@runtime_checkable
class Observer(Protocol):
    """Sees the training as it happens."""

    def at(self, step: int) -> None: ...

    def record(self, record: Record) -> None: ...


class RunKeeper:
    """Keeps a training in its run.

    Every line of metrics is written before the checkpoint of its step, and what was written after the checkpoint is
    forgotten on resuming: whenever the process is killed, the resumed run writes the same lines.
    """

    def __init__(
        self,
        run: Run,
        checkpoints: Checkpoints,
        batches: Batches | SharedBatches,
        plan: Plan,
        interrupt: Interrupt,
        see: Observer,
        company: Company = ALONE,
    ):
        self._run, self._checkpoints, self._batches, self._plan = run, checkpoints, batches, plan
        self._interrupt, self._observer, self._company = interrupt, see, company
        self._step = 0
        self._known: set[tuple[str, str]] = set()
        """parts and names of the examples that cannot be used, as far as they were met"""

    def resume(self, like: State) -> State:
        """The newest whole state that was saved, with the data where they were; or the given one, if none was."""
        kept = self._checkpoints.newest(like)
        done_by_first(self._company, lambda: self._rewind(None if kept is None else kept.step))
        self._known = {(record["part"], record["name"]) for record in self._run.metrics.read("skipped")}
        if kept is None:
            return like
        self._batches.set_state(kept.position)
        return kept.state

    def _rewind(self, step: int | None) -> None:
        if step is None:
            self._refuse_if_lost()
        with self._run.writing("metrics.jsonl"):
            self._run.metrics.rewind(step or 0)

    def _refuse_if_lost(self) -> None:
        """A line after the step of the first checkpoint was written after that checkpoint: it was there."""
        last = max((record["step"] for record in self._run.metrics.read()), default=0)
        if last > self._plan.checkpoint_every:
            raise RunError(
                f"{self._run.path} was trained to step {last}, and its checkpoints are gone; bring them back from a "
                "copy, or train anew in another directory"
            )

    def at(self, step: int) -> None:
        self._step = step
        self.skipped("train", self._batches.skipped)
        if sum(part == "train" for part, _ in self._known) == self._plan.examples:
            raise BadData("no training example can be used: all were skipped")
        self._show(self._observer.at, step)

    def skipped(self, part: str, examples: Iterable[Skipped]) -> None:
        """Write examples that cannot be used to the metrics, each when it is met for the first time."""
        for name, reason in examples:
            if (part, name) not in self._known:
                self._known.add((part, name))
                self.write({"kind": "skipped", "step": self._step, "part": part, "name": name, "reason": reason})

    def write(self, record: Record) -> None:
        if self._company.first:
            with self._run.writing("metrics.jsonl"):
                self._run.metrics.append(record)
        self._show(self._observer.record, record)

    def _show(self, see: Callable[[Any], None], what: Any) -> None:
        """Where the terminal or the pipe is gone that the observer writes to, stop and save as if a signal had come."""
        try:
            see(what)
        except OSError as error:
            gone = {errno.EPIPE: signal.SIGPIPE, errno.EIO: signal.SIGHUP}
            if error.errno not in gone:
                raise
            self._interrupt.requested = self._interrupt.requested or gone[error.errno]

    def save(self, step: int, state: State) -> None:
        if self._company.first:
            with self._run.writing("metrics.jsonl"):
                self._run.metrics.flush()
        with self._run.writing("checkpoints"):
            self._checkpoints.save(step, state, self._batches.get_state())

    def saved(self) -> int | None:
        return self._checkpoints.latest()

    def stop(self) -> int | None:
        return self._batches.stop if isinstance(self._batches, SharedBatches) else self._interrupt.requested
