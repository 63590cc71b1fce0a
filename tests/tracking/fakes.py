"""Packages in the place of wandb and trackio, which note how they are called; event files, read as TensorBoard does."""

import json
import os
import struct
from pathlib import Path

from tensorboardX.proto.event_pb2 import Event, SessionLog

WANDB = """
import json, os, threading, time

def note(*call):
    with open(os.environ["CALLS"], "a") as file:
        file.write(json.dumps(call) + "\\n")

class Settings:
    def __init__(self, **given):
        self.given = given

class Run:
    dir, url, offline = "here", "https://example.org/run", False
    starting_step = int(os.environ.get("STARTING_STEP", 0))

    def log(self, numbers, step):
        print("packages print", flush=True)
        note("log", step, sorted(numbers))
        how = os.environ.get("HOW")
        if how == "raise":
            raise RuntimeError("no network\\nand more lines")
        if how == "thread":
            def fail():
                raise OSError(28, "No space left on device")
            threading.Thread(target=fail).start()
            time.sleep(60)
        if how == "sleep":
            time.sleep(60)
        if how == "die":
            os._exit(7)

    def finish(self):
        note("finish")

def init(**given):
    settings = given.pop("settings").given
    note("init", given, settings)
    return Run()
"""
TRACKIO = """
import json, os
from wandb import note

class Run:
    _next_step = int(os.environ.get("STARTING_STEP", 0))

    def log(self, numbers, step):
        note("log", step, sorted(numbers))

    def finish(self):
        note("finish")

def init(project, name, config, resume):
    note("init", project, name, config, resume, os.environ.get("TRACKIO_DIR"))
    return Run()
"""


def install(folder: Path, monkeypatch, **environment: str):
    """Make them packages; what returns the calls so far."""
    packages, calls = folder / "packages", folder / "calls"
    for name, text in {"wandb": WANDB, "trackio": TRACKIO}.items():
        (packages / name).mkdir(parents=True, exist_ok=True)
        (packages / name / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setenv("PYTHONPATH", f"{packages}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    for name, value in {"CALLS": str(calls), **environment}.items():
        monkeypatch.setenv(name, value)
    return lambda: [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []


def events(folder: Path) -> list[Event]:
    """All events of a run, file by file. What begins anew takes away what came before, from its step on."""
    found: list[Event] = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + size])
            data = data[16 + size :]
            if event.session_log.status == SessionLog.START:
                found = [one for one in found if one.step < event.step]
            found.append(event)
    return found


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Steps and values by name."""
    found: dict[str, list[tuple[int, float]]] = {}
    for event in events(folder):
        for value in event.summary.value:
            if value.WhichOneof("value") == "simple_value":
                found.setdefault(value.tag, []).append((event.step, round(value.simple_value, 4)))
    return found
