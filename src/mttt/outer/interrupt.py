"""SIGINT and SIGTERM: the first asks for a clean stop, the second gets its way."""

import os
import signal
import threading
from types import FrameType


class Interrupted(Exception):
    """The run was asked to stop, and has saved itself."""

    def __init__(self, step: int, signal_number: int):
        super().__init__(f"stopped and saved at step {step}")
        self.step, self.signal_number = step, signal_number


class Interrupt:
    """While active, remembers that a signal came. A second signal does what it would have done without us."""

    def __init__(self):
        self.requested: int | None = None  # the signal's number
        self._previous = {}

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is not threading.main_thread():
            return self  # Python delivers signals to the main thread only
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
        self.requested = number
