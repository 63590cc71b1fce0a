"""What people see of a grid: how much is left, from what was done in this process."""

import io

import pytest
from rich.console import Console

from mttt.cli import grid
from mttt.recipes.mixers import SelfAttentionRecipe
from mttt.studies import Job, Row, Watcher

A, B, C, D = (Job(Row(name, name, SelfAttentionRecipe()), 0) for name in "abcd")


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(grid.time, "monotonic", lambda: now[0])

    def wait(seconds):
        now[0] += seconds

    return wait


def test_the_rest_takes_as_long_as_its_weight(clock):
    file = io.StringIO()
    with grid.watch(Console(file=file, width=200)) as watcher:
        assert isinstance(watcher, Watcher)
        watcher.begin(dict.fromkeys([A, B, C, D], 100.0), 500.0)  # a fifth was done by others
        assert watcher.left() == ""
        run = watcher.job(A, 10, "test")
        run.at(0)
        clock(30)
        run.at(5)  # 50 in 30 seconds, 350 left
        assert watcher.left() == "all done in 0:03:30"
        clock(30)
        run.at(10)
        watcher.finished(A, 0.5)
        assert watcher.left() == "all done in 0:03:00"
        watcher.job(B, 10, "test")
        watcher.left_to_others(B)
        assert watcher.left() == "all done in 0:02:00"
        watcher.job(C, 10, "test")
        watcher.finished(C, 0.5)  # it was trained already
        assert watcher.left() == "all done in 0:01:00"
        run = watcher.job(D, 10, "test")
        run.at(5)  # goes on where it was
        assert watcher.left() == "all done in 0:00:30"
        run.record({"kind": "evaluation", "step": 10, "loss": 1.0, "accuracy": 0.5, "examples_per_second": None})
        watcher.finished(D, None)
        assert watcher.left() == "all done in 0:00:00"
    text = file.getvalue()
    assert "4 runs to do; 20% of the work" in text
    assert "run 1 of 4: a, seed 0" in text and "run 4 of 4: d, seed 0" in text
    assert "test  step 10/10  loss 1.0000" in text
    assert "a, seed 0: accuracy 50.00%" in text and "d, seed 0: diverged" in text


def test_a_row_goes_as_fast_as_its_other_seeds(clock):
    with grid.watch(Console(file=io.StringIO(), width=200)) as watcher:
        again = A._replace(seed=1)
        watcher.begin({A: 100.0, B: 100.0, again: 100.0, C: 100.0}, 400.0)
        for job, seconds in ((A, 10), (B, 50)):
            run = watcher.job(job, 10, "test")
            run.at(0)
            clock(seconds)
            run.at(10)
            watcher.finished(job, 0.5)
        # 10 seconds for A's next seed, and 30, the mean, for a row that nobody knows yet.
        assert watcher.left() == "all done in 0:00:40"


def test_where_there_is_no_terminal_lines_are_few(clock):
    file = io.StringIO()
    with grid.watch(Console(file=file, width=200)) as watcher:
        watcher.begin({A: 100.0}, 100.0)
        run = watcher.job(A, 100, "test")
        for step in range(1, 101):
            clock(1)
            run.at(step)
            run.record({"kind": "train", "step": step, "loss": 1.0, "accuracy": 0.5, "examples_per_second": 10.0})
    assert file.getvalue().count("/s") == 3


def test_a_terminal_has_a_bar(clock):
    file = io.StringIO()
    with grid.watch(Console(file=file, width=200, force_terminal=True)) as watcher:
        watcher.begin({A: 100.0}, 100.0)
        run = watcher.job(A, 2, "test")
        run.at(1)
        run.record({"kind": "train", "step": 1, "loss": 1.0, "accuracy": 0.5, "examples_per_second": 10.0})
        run.at(2)
        watcher.finished(A, 0.5)
    assert "run 1 of 1: a, seed 0" in file.getvalue() and "100 %" in file.getvalue()
