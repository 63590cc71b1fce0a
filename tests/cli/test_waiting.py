"""A line for every wait, in a terminal and nowhere else."""

import io
import os
import pty
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from mttt.cli import waiting as module
from mttt.cli.progress import progress
from mttt.cli.say import say
from mttt.cli.waiting import waiting, waiting_for


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding="utf-8"):
        super().__init__(io.BytesIO(), encoding, write_through=True)

    def isatty(self):
        return True

    def text(self):
        return self.buffer.getvalue().decode(self.encoding)


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(module, "MOMENT", 0.01)
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Terminal()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=terminal))  # pytest changes that of everybody
    return terminal


def until(terminal, words, begin=0):
    end = time.monotonic() + 10
    while words not in terminal.text()[begin:]:
        assert time.monotonic() < end, terminal.text()
        time.sleep(0.005)


def test_the_line_says_what_is_going_on_and_goes_away(terminal):
    with waiting("reading") as wait:
        until(terminal, "⠋ reading …  0 s")
        wait("a very long file name " * 4)
        until(terminal, "a very long")
        with waiting("inside"):
            until(terminal, "inside …")
        before = len(terminal.text())
        until(terminal, "a very long", before)
    assert terminal.text().endswith("\r\x1b[K")
    assert max(len(part.removesuffix("\x1b[K")) for part in terminal.text().split("\r")) == 39
    assert module._current is None


def test_what_is_quick_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(module, "MOMENT", 60.0)
    with waiting("reading"):
        pass
    assert list(waiting_for(iter([1, 2]), "making")) == [1, 2]
    assert terminal.text() == ""


def test_nothing_is_shown_where_there_is_no_terminal(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    with waiting("reading") as wait:
        wait("writing")
        time.sleep(0.05)
    monkeypatch.setenv("TERM", "xterm")
    terminal.isatty = lambda: False
    with waiting("reading"):
        time.sleep(0.05)
    assert terminal.text() == ""


def test_an_error_takes_the_line_away_and_an_ascii_terminal_can_show_it(monkeypatch, terminal):
    ascii = Terminal("ascii")
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=ascii))

    def fails():
        with waiting("größer"):
            until(ascii, "| gr??er ?  0 s")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fails()
    assert ascii.text().endswith("\r\x1b[K") and module._current is None


def test_what_is_said_meanwhile_has_a_line_of_its_own(terminal):
    with waiting("reading"):
        until(terminal, "reading")
        console = Console(file=io.StringIO())
        say(console, "found")
        assert "\r\x1b[K" in terminal.text()


def test_a_training_says_that_it_compiles_and_evaluates(capsys):
    def shown(observer):
        observer.progress.refresh()
        out = capsys.readouterr().out
        return out[out.rfind("\r") :]

    record = {"kind": "train", "step": 2, "epoch": 1.0, "loss": 0.5, "accuracy": 0.5, "examples_per_second": None}
    with progress(Console(force_terminal=True, width=100), 4, "test", evaluate_every=2) as observer:
        observer.at(0)
        assert "compiling …" in shown(observer)
        observer.at(1)
        assert "compiling" not in shown(observer)
        observer.at(2)
        observer.record(record)
        assert "evaluating …" in shown(observer)
        observer.record(record | {"kind": "evaluation"})
        assert "loss 0.5000" in shown(observer) and "evaluating" not in shown(observer)
        observer.at(3)
        assert "evaluating" not in shown(observer)
        observer.at(4)
        assert "evaluating …" in shown(observer)


def test_the_seconds_that_imports_take_are_not_silent(tmp_path):
    main, other = pty.openpty()
    words = [sys.executable, "-m", "mttt", "runs"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=other, env=environment) as process:
        assert process.stdout is not None
        os.close(other)
        seen = b""
        try:
            while part := os.read(main, 1000):
                seen += part
        except OSError:  # Linux: nobody has the other end any more
            pass
        assert "There are no runs" in process.stdout.read().decode()
    os.close(main)
    assert "starting …" in seen.decode() and seen.endswith(b"\r\x1b[K")
