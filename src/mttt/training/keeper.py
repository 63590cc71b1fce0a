"""Where the outer loop meets the disk: records, checkpoints, and what had to be left out of the data."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from mttt.data import BadData, Batches, Skipped
from mttt.outer import Interrupt, State
from mttt.runs import Checkpoints, Record, Run


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
        self, run: Run, checkpoints: Checkpoints, batches: Batches, examples: int, interrupt: Interrupt, see: Observer
    ):
        """`examples` is how many there are to train on."""
        self._run, self._checkpoints, self._batches, self._examples = run, checkpoints, batches, examples
        self._interrupt, self._observer = interrupt, see
        self._step = 0
        self._known: set[tuple[str, str]] = set()
        """parts and names of the examples that cannot be used, as far as they were met"""

    def resume(self, like: State) -> State:
        """The newest state that was saved, with the data where they were; or the one that is given, if none was."""
        step = self.saved()
        self._run.metrics.rewind(step or 0)
        self._known = {(record["part"], record["name"]) for record in self._run.metrics.read("skipped")}
        if step is None:
            return like
        state, position = self._checkpoints.restore(step, like)
        self._batches.set_state(position)
        return state

    def at(self, step: int) -> None:
        self._step = step
        self.skipped("train", self._batches.skipped)
        if sum(part == "train" for part, _ in self._known) == self._examples:
            raise BadData("no training example can be used: all were skipped")
        self._observer.at(step)

    def skipped(self, part: str, examples: Iterable[Skipped]) -> None:
        """Write examples that cannot be used to the metrics, each when it is met for the first time."""
        for name, reason in examples:
            if (part, name) not in self._known:
                self._known.add((part, name))
                self.write({"kind": "skipped", "step": self._step, "part": part, "name": name, "reason": reason})

    def write(self, record: Record) -> None:
        self._run.metrics.append(record)
        self._observer.record(record)

    def save(self, step: int, state: State) -> None:
        self._run.metrics.flush()
        self._checkpoints.save(step, state, self._batches.get_state())

    def saved(self) -> int | None:
        return self._checkpoints.latest()

    def stop(self) -> int | None:
        return self._interrupt.requested
