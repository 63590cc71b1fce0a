"""SIGINT and SIGTERM: the first asks for a clean stop, the second gets its way."""

import os
import signal
from types import FrameType


class Interrupted(Exception):
    """The run was asked to stop, and has saved itself."""

    def __init__(self, step: int):
        super().__init__(f"stopped and saved at step {step}")
        self.step = step


class Interrupt:
    """While active, remembers that a signal came. A second signal does what it would have done without us."""

    def __init__(self):
        self.requested = False
        self._previous = {}

    def __enter__(self) -> "Interrupt":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.requested = True
