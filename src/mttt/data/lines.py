"""Small text files that come with data: lists of labels and of class names."""

from pathlib import Path

from mttt.data.errors import cannot_read
from mttt.data.names import printable
from mttt.files import contents

_LIMIT = 2**26  # bytes; the largest list that is in use, ImageNet's, has fewer than 2**22
_SHOWN = 80  # characters


def read_lines(path: Path) -> list[str]:
    """The lines that are not empty, without the space around them. Any other file than UTF-8 text is a BadData."""
    try:
        text = contents(path, _LIMIT).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise cannot_read(path, error) from error
    return [line.strip() for line in text.splitlines() if line.strip()]


def quoted(text: str) -> str:
    """Text of somebody else for a message: one line, and not too much of it."""
    return f'"{printable(text[:_SHOWN])}{"…" if len(text) > _SHOWN else ""}"'
