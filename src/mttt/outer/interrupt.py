"""SIGINT, SIGTERM and SIGHUP: the first asks for a clean stop, the second gets its way."""

import signal
import threading
from types import FrameType


class Interrupted(Exception):
    """The run was asked to stop, and has saved itself."""

    def __init__(self, step: int, signal_number: int):
        super().__init__(f"stopped and saved at step {step}")
        self.step, self.signal_number = step, signal_number


class Interrupt:
    """While active, remembers that a signal came; the next one ends the process at once, even inside a compilation."""

    def __init__(self):
        self.requested: int | None = None  # the signal's number
        self._previous = {}

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():  # Python delivers signals to no other
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) != signal.SIG_IGN:  # by nohup, or by a shell for what it starts with &
                    self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.requested = number
        for each in self._previous:
            signal.signal(each, signal.SIG_DFL)
