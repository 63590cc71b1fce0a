"""Bytes on their way to the terminal: whole characters, as they come, and how surprising they were."""

import codecs
import sys
from abc import ABC, abstractmethod

from rich.console import Console
from rich.segment import Segment, Segments
from rich.text import Text

from mttt.cli.say import printable

_LEVELS = ((0.5, "green"), (1.0, "bright_green"), (2.0, "yellow"), (4.0, "bright_yellow"), (6.0, "bright_red"))
_BEYOND = "bold red reverse"


class Shown(ABC):
    """Takes bytes one by one. What controls a terminal is shown, never obeyed; what is no UTF-8 is �."""

    def __init__(self, console: Console):
        self.console = console
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._bits = self._total = 0.0
        self._count = 0

    def add(self, byte: bytes, bits: float) -> None:
        """One more. A character is shown with its last byte, and as surprising as its bytes together."""
        self._bits += bits
        self._total += bits
        self._count += 1
        if text := self._decoder.decode(byte):
            self.put(printable(text), self._bits)
            self._bits = 0.0

    def end(self) -> None:
        """That was all."""
        self.put(printable(self._decoder.decode(b"", final=True)), self._bits)
        self.put("\n", 0.0)

    @abstractmethod
    def put(self, text: str, bits: float) -> None:
        """Show some characters."""


class Plain(Shown):
    """The characters alone."""

    def put(self, text: str, bits: float) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


class Coloured(Shown):
    """Each character in a colour that says how many bits it took, with a legend at the end."""

    def put(self, text: str, bits: float) -> None:
        # A segment, not a Text: that would turn a tab into spaces.
        style = self.console.get_style(colour(bits)) if text != "\n" else None
        self.console.print(Segments([Segment(text, style)]), end="", soft_wrap=True)

    def end(self) -> None:
        super().end()
        legend = Text("bits: ")
        for most, style in _LEVELS:
            legend.append(f"below {most:g}", style).append("  ")
        self.console.print(legend.append("more", _BEYOND), soft_wrap=True)
        if self._count:
            self.console.print(f"{self._total / self._count:.3f} bits per byte on average", highlight=False)


def colour(bits: float) -> str:
    """The style of a character that took so many bits."""
    return next((style for most, style in _LEVELS if bits < most), _BEYOND)
