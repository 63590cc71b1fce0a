"""Several processes for one study."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from rich.console import Console

from mttt.cli import jobs
from mttt.cli.study import _without_jobs

GRID = ["set-recall", "--pairs", "2", "--steps", "40", "--seeds", "2", "--only", "self-attention", "linear-attention"]


def study(out, *words):
    command = [sys.executable, "-m", "mttt", "study", *GRID, "--out", str(out), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def numbers(directory):
    """What was trained; how long it took may differ."""
    files = {path.relative_to(directory): json.loads(path.read_text()) for path in directory.rglob("pairs-*.json")}
    return {path: {name: value for name, value in one.items() if name != "seconds"} for path, one in files.items()}


@pytest.mark.skipif(len(jobs._processors()) < 2, reason="two processors are needed")
def test_a_study_of_two_processes_is_killed_and_ends_as_one_of_one_process(tmp_path):
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    first = study(shared, "--jobs", "2")
    deadline = time.monotonic() + 120
    while not numbers(shared):
        assert first.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    first.kill()
    first.communicate()
    out, _ = study(alone).communicate(timeout=120)
    assert "Report:" in out
    again = study(shared, "--jobs", "2")  # what the killed one has started sees that nobody waits, and ends
    out, _ = again.communicate(timeout=120)
    assert again.returncode == 0 and "[1] " in out and "[2] " in out and "Report:" in out, out
    assert numbers(shared) == numbers(alone) and len(numbers(alone)) == 4


def worker(code, monkeypatch):
    """In the place of a worker that trains."""

    def start(words, processors):
        script = f"import os, signal, sys, time; WORDS, PROCESSORS = {list(words)}, {list(processors)}\n{code}"
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [sys.executable, "-c", script], stdin=pipe, stdout=pipe, text=True, start_new_session=True
        )

    monkeypatch.setattr(jobs, "_start", start)
    monkeypatch.setattr(jobs, "_processors", lambda: [0, 1, 2, 3, 4])


def test_workers_share_the_processors_and_what_they_say_is_passed_on(monkeypatch, capsys):
    worker("print(*WORDS, PROCESSORS)", monkeypatch)
    assert jobs.divide(["set-recall", "--seeds", "2"], 2, Console()) == 0
    said = sorted(capsys.readouterr().out.splitlines())
    assert said == ["[1] set-recall --seeds 2 [0, 2, 4]", "[2] set-recall --seeds 2 [1, 3]"]


@pytest.mark.parametrize(("code", "expected"), [("sys.exit(2 * (PROCESSORS[0] == 1))", 2), ("os.abort()", 134)])
def test_a_worker_that_fails_is_the_exit_code(monkeypatch, code, expected):
    worker(code, monkeypatch)
    assert jobs.divide([], 2, Console()) == expected


def test_a_signal_goes_to_every_worker_once(monkeypatch, capsys):
    worker(
        "signal.signal(signal.SIGTERM, lambda *_: (print('saved', flush=True), sys.exit(143)))\n"
        "print('works', flush=True)\ntime.sleep(60)",
        monkeypatch,
    )

    def stop():
        deadline, said = time.monotonic() + 30, ""
        while said.count("works") < 2 and time.monotonic() < deadline:
            said += capsys.readouterr().out
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop).start()
    assert jobs.divide([], 2, Console()) == 128 + signal.SIGTERM
    assert capsys.readouterr().out.count("saved") == 2


def test_more_processes_than_processors_are_refused(here):
    _, err = here("study", "recall", "--jobs", 10_000, code=2)
    assert "--jobs 10000: take 1 to" in err
    _, err = here("study", "recall", "--jobs", 0, code=2)
    assert "--jobs 0: take 1 to" in err


def test_a_worker_is_asked_for_what_the_study_was():
    assert _without_jobs(["claims", "--jobs", "2", "--seeds", "3"]) == ["claims", "--seeds", "3"]
    assert _without_jobs(["claims", "--seeds", "3", "--jobs=2"]) == ["claims", "--seeds", "3"]
