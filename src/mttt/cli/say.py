"""Text for people. Names of files and classes come from elsewhere: they are shown, never obeyed by the terminal."""

import unicodedata

from rich.console import Console

from mttt.cli.waiting import erase

_KEPT = "\n\t"


def printable(text: str) -> str:
    """Characters that control a terminal, or turn the direction of writing, as \\x1b, \\u202e and so on."""
    return "".join(
        char
        if char in _KEPT or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        else _escaped(char)
        for char in text
    )


def one_line(text: str) -> str:
    """The same for a name that has a place in a line: its line breaks are shown, too."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def _escaped(char: str) -> str:
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def say(console: Console, text: str) -> None:
    """Plain text: a path may look like markup, and a command must stay on its line."""
    erase()
    console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


def count(number: int, singular: str, plural: str = "") -> str:
    """So many of something, in words: `1 class`, `2 classes`."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"
