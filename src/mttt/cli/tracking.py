"""Trackers beside a training: checked before it begins, started with it, and never in its way."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from rich.console import Console

from mttt.cli.arguments import UsageError
from mttt.cli.opening import program, quoted
from mttt.cli.say import say
from mttt.cli.waiting import waiting
from mttt.recipes import encode, recipe_of
from mttt.runs import Record, Run
from mttt.tracking import Feed, Tracked, missing
from mttt.training import Observer

TrackerName = Literal["tensorboard", "wandb", "trackio"]
PATIENCE = 30.0
"""seconds after a training in which a tracker may send what it has not sent yet"""


def check_trackers(names: tuple[TrackerName, ...], flag: str) -> None:
    """Refuse a tracker whose package is not there, before any work."""
    for name in names:
        if (package := missing(name)) is not None:
            raise UsageError(f"{flag} {name} needs {package}: pip install {package}")


def tracked(run: Run, directory: Path | None = None) -> Tracked:
    """What a tracker is told of a run."""
    place = None if directory is None else str(directory.absolute())
    return Tracked(str(run.path), run.id, encode(recipe_of(run)), place)


class Feeds:
    """The trackers of a training. They begin with its first sign: what was written before may be rewound by then."""

    def __init__(self, names: tuple[TrackerName, ...], run: Run, console: Console):
        self._names, self._run, self._console = tuple(dict.fromkeys(names)), run, console
        self._feeds: dict[str, Feed] = {}

    def beside(self, observer: Observer) -> Observer:
        """An observer that sees what the other one sees."""
        return _Beside(self, observer) if self._names else observer

    def start(self) -> None:
        """Once."""
        names, self._names = self._names, ()
        for name in names:
            try:
                self._feeds[name] = Feed(
                    name,
                    tracked(self._run),
                    where=lambda place, name=name: self._say(f"Tracked by {name}: {place}"),
                    failed=lambda why, name=name: self._say(f"{self._gone(name)}: {why}. {self._later(name)}"),
                )
            except OSError as error:
                self._say(f"{self._gone(name)}: {error}. {self._later(name)}")

    def end(self) -> None:
        """The training is over, however it ended: what is written is sent, unless that takes too long."""
        for feed in self._feeds.values():
            feed.over()
        try:
            for name, feed in self._feeds.items():
                with waiting(f"{name}: sending the last numbers"):
                    done = feed.wait(PATIENCE)
                if not done:
                    self._say(f"{name} has not taken all numbers within {PATIENCE:.0f} s. {self._later(name)}")
        finally:
            for feed in self._feeds.values():
                feed.kill()  # if it is not done

    def _gone(self, name: str) -> str:
        return f"{name} gets no more numbers, and the training goes on"

    def _later(self, name: str) -> str:
        return f"Afterwards: {program()} track {quoted(self._run.path)} --to {name}"

    def _say(self, text: str) -> None:
        with suppress(OSError):  # the terminal may be gone
            say(self._console, text)


class _Beside:
    def __init__(self, feeds: Feeds, observer: Observer):
        self._feeds, self._observer = feeds, observer

    def at(self, step: int) -> None:
        self._feeds.start()
        self._observer.at(step)

    def record(self, record: Record) -> None:
        self._observer.record(record)


@contextmanager
def feeding(names: tuple[TrackerName, ...], run: Run, console: Console) -> Iterator[Feeds]:
    """The trackers of a training while the block runs."""
    feeds = Feeds(names, run, console)
    try:
        yield feeds
    finally:
        feeds.end()
