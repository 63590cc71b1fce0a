"""A tracker beside a training: a process that reads what the run writes, and can neither slow it nor stop it."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mttt.tracking.tracker import Tracked

_ROOT = Path(__file__).parent.parent.parent


class Feed:
    """The process of one tracker. `where` is called when its numbers have a place, `failed` when it ends too early."""

    def __init__(self, tracker: str, run: Tracked, *, where: Callable[[str], None], failed: Callable[[str], None]):
        self._where, self._failed = where, failed
        self.ok = True
        """has nothing gone wrong so far?"""
        # -P: a file of the working directory that is called like a package is not meant.
        words = [sys.executable, "-P", "-m", "mttt.tracking"]
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        # In a session of its own, or Ctrl-C would end it before it has read the last lines.
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": path},
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, and the listener says so
            self._process.stdin.write(json.dumps({"tracker": tracker, "run": run._asdict()}).encode() + b"\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        reason = None
        with self._process.stdout as answers:
            for line in answers:
                said = json.loads(line)
                if "where" in said:
                    with suppress(OSError):  # who would read it may be gone
                        self._where(said["where"])
                reason = said.get("failed", reason)
        code = self._process.wait()
        if code and not self._ended:
            self.ok = False
            with suppress(OSError):
                self._failed(reason or f"its process ended with code {code}")

    _ended = False
    """by us, before it was done"""

    def over(self) -> None:
        """No more lines are coming; it has those that are there to send."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has sent everything, or has failed; False if it has not within so many seconds."""
        self._listener.join(seconds)
        return not self._listener.is_alive()

    def kill(self) -> None:
        """End it if it is not done, with the processes that it has started."""
        if self._listener.is_alive():
            self._ended, self.ok = True, False
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._listener.join()
