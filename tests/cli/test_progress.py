"""What is left is told from the steps of this process that did not compile."""

import re

import pytest
from rich.console import Console

from mttt.cli import progress as module
from mttt.cli.progress import Pace, progress


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_compiling_and_what_was_done_before_are_not_counted(clock):
    """A run that goes on at step 1000 of 2000; the first step takes 20 s, the others 0.1 s."""
    pace = Pace(2000)
    pace.at(1000)
    assert pace.left() == ""
    clock.now += 20
    pace.at(1001)
    assert pace.left() == ""
    for step in range(1002, 1102):
        clock.now += 0.1
        pace.at(step)
    assert pace.left() == "ETA 0:01:30"


@pytest.mark.parametrize("terminal", [True, False])
def test_the_terminal_and_the_file_say_the_same(terminal, clock, capsys):
    console = Console(force_terminal=terminal, width=150)
    with progress(console, 2000, "test") as observer:
        for step, seconds in ((1000, 0), (1001, 20), (1101, 10)):
            clock.now += seconds
            observer.at(step)
        record = {"kind": "train", "step": 1101, "epoch": 1.0, "loss": 0.1, "accuracy": 0.5}
        observer.record(record | {"examples_per_second": None})
        if terminal:
            observer.progress.refresh()
    out = capsys.readouterr().out
    assert "ETA 0:01:30" in out and "/s" not in out


@pytest.mark.parametrize("terminal", [True, False])
def test_lines_fit_80_columns(terminal, clock, capsys):
    """Of a long training of a small model."""
    with progress(Console(force_terminal=terminal, width=80), 46875, "validation") as observer:
        for step in (40000, 40001, 41000):
            clock.now += 1000
            observer.at(step)
        place = {"step": 46875, "epoch": 30.0, "loss": 2.3026, "accuracy": 1.0}
        for kind, speed in (("train", 999), ("evaluation", 12345)):
            observer.record({"kind": kind, **place, "examples_per_second": speed})
        if terminal:
            observer.progress.refresh()
    out = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().out).replace("\r", "\n")
    assert max(map(len, out.splitlines())) <= 80
    assert "loss 2.3026  accuracy 100.0%  999/s" in out and "ETA 1:38:01" in out
    assert "validation  loss 2.3026  accuracy 100.0%  12345/s" in out
