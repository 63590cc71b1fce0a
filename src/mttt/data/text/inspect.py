"""Looking at a text before training on it."""

import codecs
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mttt.data.errors import BadData
from mttt.data.text.alphabet import BYTES, SIZE
from mttt.data.text.find import FoundText
from mttt.data.text.split import held_out
from mttt.data.text.text import Text, TextFiles

HOLDOUT = 0.1
SAMPLE = 400  # bytes
_CHUNK = 2**22


@dataclass(frozen=True)
class TextInspection:
    """What was found in a text."""

    where: str
    size: int
    """in bytes"""
    files: list[dict[str, Any]]
    """path and size of each"""
    ignored: list[str]
    """what is there and not read"""
    encoding: str
    """ASCII, UTF-8, or bytes of another one"""
    lines: int
    counts: dict[str, int]
    """how often each byte that occurs does, the most frequent first"""
    bits: float
    """bits a byte if every byte were drawn by how often it occurs: what a model has to beat"""
    sample: str
    """some bytes from the middle"""
    held_out: int
    """bytes at the end that would not be trained on"""
    held_out_begins: str
    """the first of them"""

    def json(self) -> dict[str, Any]:
        """All of it, for a file."""
        return asdict(self)


def inspect_text(found: FoundText) -> TextInspection:
    """Read all of a text."""
    text = found.text
    if not len(text):
        raise BadData(f"{text} is empty: there is nothing to look at")
    counts, encoding = _count(text)
    order = np.argsort(-counts, kind="stable")
    shares = counts[counts > 0] / counts.sum()
    last = held_out(len(text), HOLDOUT)
    files = text.files if isinstance(text, TextFiles) else ()
    return TextInspection(
        where=str(text),
        size=len(text),
        files=[{"path": str(file.path), "size": file.size} for file in files],
        ignored=list(found.ignored),
        encoding=encoding,
        lines=int(counts[ord("\n")]),
        counts={BYTES[byte]: int(counts[byte]) for byte in order if counts[byte]},
        bits=float(-(shares * np.log2(shares)).sum()),
        sample=_sample(text, (len(text) - min(SAMPLE, len(text))) // 2),
        held_out=last,
        held_out_begins=_sample(text, len(text) - last),
    )


def _count(text: Text) -> tuple[np.ndarray, str]:
    """How often every byte occurs, and what the encoding is."""
    counts, decoder, whole = np.zeros(SIZE, np.int64), codecs.getincrementaldecoder("utf-8")(), True
    for begin in range(0, len(text), _CHUNK):
        end = min(begin + _CHUNK, len(text))
        piece = text.read(begin, end)
        counts += np.bincount(piece, minlength=SIZE)
        try:
            decoder.decode(piece.tobytes(), final=end == len(text))
        except UnicodeDecodeError:
            whole = False
            decoder.reset()
    if not whole:
        return counts, "not UTF-8"
    return counts, "UTF-8" if counts[128:].any() else "ASCII"


def _sample(text: Text, begin: int) -> str:
    return text.read(begin, min(begin + SAMPLE, len(text))).tobytes().decode(errors="replace")
