"""Several processes on this machine train one run."""

import json
import random
import signal
import socket
import subprocess
import sys
import time

import pytest

from cli.harness import TIMEOUT, TINY, metrics, mttt, start
from mttt.devices import Distributed, NotConnected, connected
from mttt.devices.processes import in_a_cluster
from mttt.runs import Run

# 22 steps. MTTT-Linear has an inner loop, and is traced and compiled sooner than MTTT-MLP.
WORDS = ["train", "digits", *TINY, "--model.mixer", "mttt-linear", "--epochs", "1"]
WORDS += ["--checkpoint-every", "0.2", "--evaluate-every", "0.5"]
PATIENCE = 20


def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def pair(words, cwd):
    """Two processes of one training."""
    address = f"127.0.0.1:{port()}"
    told = [[*words, "--patience", PATIENCE, "--distributed", f"{address},2,{number}"] for number in (0, 1)]
    return [start(each, cwd) for each in told]


def end(processes):
    """Exit codes, and what was printed."""
    printed = [process.communicate(timeout=TIMEOUT) for process in processes]
    return [process.returncode for process in processes], printed


def reach(processes, path, step):
    """Wait until the metrics have a step."""
    limit = time.monotonic() + TIMEOUT
    while not (path.exists() and f'"step": {step},' in path.read_text()):
        assert all(process.poll() is None for process in processes), end(processes)
        assert time.monotonic() < limit
        time.sleep(0.005)


def assert_alike(run, reference):
    """Up to rounding."""
    got, expected = metrics(run), metrics(reference)
    assert [(line["kind"], line["step"]) for line in got] == [(line["kind"], line["step"]) for line in expected]
    for one, other in zip(got, expected, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=2e-3), one
    results = [Run.open(path).result for path in (run, reference)]
    assert results[0] is not None and results[1] is not None
    assert results[0]["loss"] == pytest.approx(results[1]["loss"], rel=2e-3)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    mttt(*WORDS, "--run", "run", cwd=folder)
    return folder / "run"


def test_two_processes_train_as_one_and_stop_together(reference, tmp_path, monkeypatch):
    """SIGTERM to either one stops both; kill -9 of either one ends both; others continue, and end alike."""
    path = tmp_path / "run" / "metrics.jsonl"
    words = [*WORDS, "--run", "run"]
    processes = pair(words, tmp_path)
    reach(processes, path, 6)
    processes[1].send_signal(signal.SIGTERM)
    codes, printed = end(processes)
    assert codes == [128 + signal.SIGTERM] * 2, printed
    assert "Stopped and saved at step" in printed[0][0]
    saved = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert saved["recipe"]["seed"] == 0
    victim = random.choice([0, 1])
    processes = pair(words, tmp_path)
    reach(processes, path, 15)
    processes[victim].kill()
    begin = time.monotonic()
    codes, printed = end(processes)
    assert time.monotonic() - begin < PATIENCE + 30
    assert codes[victim] == -signal.SIGKILL and codes[1 - victim] == 1, printed
    last = printed[1 - victim][1].strip().splitlines()[-1]
    assert last.startswith("mttt: ") and last.endswith("continues from the newest checkpoint."), printed
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "2")
    codes, printed = end(pair([*words, "--devices.sequence", "2"], tmp_path))
    assert codes == [0, 0], printed
    assert "On 4 devices (cpu): data 2 × sequence 2, 2 processes" in printed[0][0]
    assert_alike(tmp_path / "run", reference)


def test_processes_that_differ_are_refused(tmp_path):
    address = f"127.0.0.1:{port()}"
    processes = [
        start([*WORDS, "--run", "run", "--seed", number, "--distributed", f"{address},2,{number}"], tmp_path)
        for number in (0, 1)
    ]
    codes, printed = end(processes)
    assert codes == [2, 2], printed
    assert all("has another recipe than process 0" in err for _, err in printed)
    assert not (tmp_path / "run").exists()


def test_nobody_at_the_address():
    """The first process waits for the others inside JAX, which would abort it; the others look for the first."""
    wanted = Distributed("by hand", f"127.0.0.1:{port()}", 2, 1)
    with pytest.raises(NotConnected, match=r"did not connect at 127\.0\.0\.1:\d+ in time; start all within"):
        connected(wanted, patience=0.1, late=print)
    first = (
        "import os; from mttt.devices import Distributed, connected\n"
        "def late(text):\n    print(text, flush=True)\n    os._exit(2)\n"
        f"connected(Distributed('by hand', '{wanted.coordinator}', 2, 0), patience=0.2, late=late)"
    )
    done = subprocess.run([sys.executable, "-c", first], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 2, done.stderr
    assert "did not connect" in done.stdout and done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("launcher", "count", "number"),
    [("OMPI_COMM_WORLD", "SIZE", "RANK"), ("SLURM", "NTASKS", "PROCID")],
)
def test_launchers_are_found(launcher, count, number, monkeypatch):
    """By what they set; one process is no company."""
    for value, found in (("2", True), ("1", False)):
        monkeypatch.setenv(f"{launcher}_{count}", value)
        monkeypatch.setenv(f"{launcher}_{number}", "0")
        assert in_a_cluster() == found
