"""Batches that several processes make together: all of them go on, or all of them stop."""

import json
from collections.abc import Callable
from typing import Any

from mttt.data import Batch, Batches, Skipped
from mttt.devices import Company, OtherFailed
from mttt.outer import Interrupt


class SharedBatches:
    """The batches of a process that trains in company.

    Before a batch is used, everybody knows whether everybody has it: a picture that one process cannot read, or a
    signal that one process got, stops all of them at the same step. The question is asked one batch ahead, so that no
    device waits for the answer.
    """

    def __init__(self, batches: Batches, company: Company, interrupt: Interrupt):
        self._batches, self._company, self._interrupt = batches, company, interrupt
        self._answer: Callable[[], tuple[int, ...]] | None = None
        self._error: Exception | None = None
        self.skipped: tuple[Skipped, ...] = ()
        """of the last batch, in all processes"""
        self.stop: int | None = None
        """the signal that any process got, as of the last batch"""

    def __next__(self) -> Batch:
        if self._answer is None:
            self._ask()
        assert self._answer is not None
        failed, stop, skips = self._answer()
        if failed:
            raise self._fail()
        self.stop = stop or None
        batch = next(self._batches)
        self.skipped = self._batches.skipped
        if skips:
            self.skipped = gathered(self._company, self.skipped)
        self._ask()
        return batch

    def _ask(self) -> None:
        try:
            self._batches.make_ready()
        except Exception as error:
            self._error = error
        skips = self._error is None and bool(self._batches.next_skipped)
        self._answer = self._company.ask(int(self._error is not None), self._interrupt.requested or 0, int(skips))

    def _fail(self) -> Exception:
        """The error of this process, or what another one says."""
        said = self._company.tell("" if self._error is None else _words(self._error))
        return self._error or OtherFailed(next(text for text in said if text))

    def get_state(self) -> Any:
        return self._batches.get_state()

    def set_state(self, state: Any) -> None:
        self._batches.set_state(state)
        self._answer = None


def gathered(company: Company, skipped: tuple[Skipped, ...] | list[Skipped]) -> tuple[Skipped, ...]:
    """The examples that any process had to leave out."""
    if company.count == 1:
        return tuple(skipped)
    found = []
    while True:  # a process can say a few at a time
        said = company.tell(json.dumps([[name[:500], reason[:500]] for name, reason in skipped[:1]]))
        found += [Skipped(*one) for text in said for one in json.loads(text)]
        skipped = skipped[1:]
        if not max(company.ask(len(skipped))()):
            return tuple(found)


def confirm(company: Company, error: Exception | None) -> None:
    """Raise what went wrong here or elsewhere, in all processes."""
    if company.count == 1:
        if error is not None:
            raise error
        return
    (failed,) = company.ask(int(error is not None))()
    if failed:
        said = company.tell("" if error is None else _words(error))
        raise error or OtherFailed(next(text for text in said if text))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
