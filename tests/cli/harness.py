"""Running the program as a user does."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SMALL = {"size": "micro-s", "dim": 16, "depth": 1, "patch": 4}
TINY = [word for name, value in SMALL.items() for word in (f"--model.{name}", str(value))]
TINY += ["--batch-size", "64", "--log-every", "3"]
TIMEOUT = 180


def start(words, cwd: Path, group: bool = False) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "mttt", *map(str, words)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=group,
        env=os.environ | {"COLUMNS": "200"},
    )


def mttt(*words, cwd: Path, code: int = 0) -> tuple[str, str]:
    """Run to the end; what it printed."""
    process = start(words, cwd)
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == code, f"exit {process.returncode}\n{out}\n{err}"
    assert "Traceback" not in err, err
    return out, err


def kill_at(step: int, words, cwd: Path, run: str, number: int = signal.SIGKILL) -> tuple[int, str]:
    """Start, wait until the metrics reach `step`, send the signal; exit code and what was printed."""
    process = start(words, cwd)
    metrics = cwd / run / "metrics.jsonl"
    end = time.monotonic() + TIMEOUT
    while process.poll() is None and time.monotonic() < end:
        if metrics.exists() and f'"step": {step},' in metrics.read_text():
            process.send_signal(number)
            break
        time.sleep(0.002)
    out, _ = process.communicate(timeout=TIMEOUT)
    return process.returncode, out


def metrics(run: Path) -> list[dict]:
    """The lines of metrics without how fast they came."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k != "examples_per_second"} for line in lines]
