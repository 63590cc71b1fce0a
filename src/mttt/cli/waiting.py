"""A line in the terminal that says what is going on, where a user would wait without a sign.

It appears after a moment, moves, and leaves nothing behind. It is on standard error, and only there where that is a
terminal. Nothing is imported for it that takes long: importing JAX is what it is for, too. The cursor stays visible, so
that a program that ends at once leaves the terminal as it was.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")

MOMENT = 0.5
"""seconds before the line appears"""
_PAUSE = 0.2
_TURNING, _ASCII = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"


class Waiting:
    """The line. Call it with other words when something else is going on."""

    def __init__(self, words: str):
        self.words = words
        self._since, self._shown = time.monotonic(), False
        self._done = threading.Event()

    @contextmanager
    def on(self, terminal: Any) -> Iterator[None]:
        """Draw it there while the block runs."""
        thread = threading.Thread(target=self._draw, args=(terminal,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join(1)  # a terminal may be stopped
            self.erase(terminal)

    def __call__(self, words: str) -> None:
        self.words = words

    def _draw(self, terminal: Any) -> None:
        encoding = (terminal.encoding or "ascii").lower()
        signs, turn = (_TURNING if "utf" in encoding else _ASCII), 0
        pause = MOMENT
        while not self._done.wait(pause):
            seconds = round(time.monotonic() - self._since)
            text = f"{signs[turn % len(signs)]} {self.words} …  {seconds} s"
            with suppress(OSError, ValueError):  # the terminal may be gone
                text = text.encode(encoding, "replace").decode(encoding)
                terminal.write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")
                terminal.flush()
                self._shown = True
            turn, pause = turn + 1, _PAUSE

    def erase(self, terminal: Any) -> None:
        """Take the line away, if it is there."""
        if self._shown:
            self._shown = False
            with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: a signal came in the middle of a write
                terminal.write("\r\x1b[K")
                terminal.flush()


_current: Waiting | None = None


@contextmanager
def waiting(words: str) -> Iterator[Waiting]:
    """Say so while the block runs, if it takes more than a moment. Inside another one, its words change meanwhile."""
    global _current
    if _current is not None:
        before = _current.words
        _current(words)
        try:
            yield _current
        finally:
            _current(before)
        return
    line = Waiting(words)
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield line
        return
    _current = line
    try:
        with line.on(sys.stderr):
            yield line
    finally:
        _current = None


def waiting_for(items: Iterable[T], words: str) -> Iterator[T]:
    """The items; say so while the next one is made."""
    iterator = iter(items)
    while True:
        with waiting(words):
            try:
                item = next(iterator)
            except StopIteration:
                return
        yield item


def erase() -> None:
    """Take the line away, for who writes to the terminal now, or ends the program."""
    if _current is not None:
        _current.erase(sys.stderr)
