"""Recipes of text: where it comes from, and how long a piece a model sees at a time."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mttt.data import DataSet
from mttt.data.text import FoundText, find_text, shakespeare, split_text
from mttt.data.text.find import paths_in
from mttt.recipes.check import fraction, positive
from mttt.recipes.place import existing
from mttt.recipes.purpose import TextData

_WHAT = "a text file, a folder of them (.txt, .text, .md, .rst), or several with : between them"


@dataclass(frozen=True)
class ShakespeareRecipe(TextData):
    """A megabyte of Shakespeare that ships with the package, as bytes."""

    kind: ClassVar[str] = "shakespeare"

    context: int = 64
    """n: bytes that the model sees before the last one it predicts"""
    holdout: float = 0.1
    """part of the text, at its end, to evaluate on"""

    def __post_init__(self):
        positive(2**26, context=self.context)
        fraction(holdout=self.holdout)

    def load(self) -> DataSet:
        return _data_set(FoundText(shakespeare()), self.context, self.holdout)


@dataclass(frozen=True)
class TextRecipe(TextData):
    """Text of yours: a file, several, or a folder, as bytes."""

    kind: ClassVar[str] = "text"

    path: str = ""
    """a text file, a folder of them, or several with : between them"""
    context: int = 64
    """n: bytes that the model sees before the last one it predicts"""
    holdout: float = 0.1
    """part of the text, at its end, to evaluate on"""

    def __post_init__(self):
        positive(2**26, context=self.context)
        fraction(holdout=self.holdout)

    @classmethod
    def like(cls, other: Any) -> "TextRecipe":
        """Another text in the place of one: with windows of the same length."""
        if not isinstance(other, TextData):
            return cls()
        return cls(getattr(other, "path", ""), other.context, other.holdout)

    def load(self) -> DataSet:
        for path in paths_in(self.path) if self.path else [""]:
            existing(str(path), _WHAT)
        return _data_set(find_text(self.path), self.context, self.holdout)


def _data_set(found: FoundText, context: int, holdout: float) -> DataSet:
    return split_text(found.text, context=context, holdout=holdout, ignored=found.ignored)
