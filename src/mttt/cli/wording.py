"""What is said of a training, in the words of its kind of data."""

import math
from abc import ABC, abstractmethod
from typing import Any

from mttt.cli.progress import numbers
from mttt.cli.say import count, one_line
from mttt.data import DataSet
from mttt.outer import Evaluation
from mttt.recipes import Recipe
from mttt.recipes.purpose import TextData
from mttt.runs import Record, Run

Step = tuple[str, str]
"""a command without the program's name, and what it is for"""


class Wording(ABC):
    """One kind of data, in sentences."""

    example: str
    """what one is called"""

    @abstractmethod
    def there(self, data: DataSet) -> str:
        """What there is to train on."""

    @abstractmethod
    def numbers(self, record: Record) -> str:
        """What a line of metrics says, in few columns."""

    @abstractmethod
    def result(self, evaluation: Evaluation, data: DataSet) -> str:
        """How well the model does at the end."""

    @abstractmethod
    def next_steps(self, run: Run, path: str) -> list[Step]:
        """What can be done with it, by commands."""


class PictureWords(Wording):
    """Images of classes."""

    example = "image"

    def there(self, data: DataSet) -> str:
        train, classes = count(len(data.train), "image"), count(len(data.classes), "class", "classes")
        return f"{train} of {classes}, {count(len(data.evaluation), f'{data.evaluation_name} image')}"

    def numbers(self, record: Record) -> str:
        return numbers(record)

    def result(self, evaluation: Evaluation, data: DataSet) -> str:
        return f"Accuracy {evaluation.accuracy:.1%} on {count(evaluation.examples, f'{data.evaluation_name} image')}"

    def next_steps(self, run: Run, path: str) -> list[Step]:
        learns = run.result is not None and run.result["inner_losses"] is not None
        without = [(f"evaluate {path} --steps 0", "without learning at test time")]
        return [
            (f"evaluate {path}", "accuracy and inner losses" if learns else "accuracy"),
            *(without if learns else []),
            (f"predict {path} IMAGE", "classify a picture of yours"),
        ]


class TextWords(Wording):
    """Bytes of a text, in windows."""

    example = "window"

    def __init__(self, context: int):
        self._context = context

    def there(self, data: DataSet) -> str:
        train, held = (_bytes(part.source) for part in (data.train, data.evaluation))
        return f"{train} of text to train on, {held} held out, in windows of {self._context:,}"

    def numbers(self, record: Record) -> str:
        speed = record["examples_per_second"]
        parts = [f"loss {record['loss']:.4f}", f"{bits_of(record['loss']):.3f} bits/byte"]
        return "  ".join(parts if speed is None else [*parts, f"{speed * self._context:.0f} bytes/s"])

    def result(self, evaluation: Evaluation, data: DataSet) -> str:
        return f"{text_result(evaluation)}, on {count(evaluation.examples * self._context, 'held-out byte')}"

    def next_steps(self, run: Run, path: str) -> list[Step]:
        return [
            (f"evaluate {path}", "loss by position in the context"),
            (f"generate {path} --prompt TEXT", "let it write"),
        ]


def text_result(evaluation: Evaluation) -> str:
    """How well a text is predicted."""
    right = f"the next byte right {evaluation.accuracy:.1%}"
    return f"Loss {evaluation.loss:.4f}, {evaluation.bits:.3f} bits per byte, {right}"


def bits_of(loss: float) -> float:
    """A loss in nats as bits."""
    return loss / math.log(2)


def _bytes(source: Any) -> str:
    return count(source.end - source.begin, "byte")


def wording(recipe: Recipe) -> Wording:
    """The words for a recipe's kind of data."""
    return TextWords(recipe.data.context) if isinstance(recipe.data, TextData) else PictureWords()


def beside(data: DataSet) -> str:
    """What is there and not read: nobody should train on less than they think."""
    if not data.ignored:
        return ""
    names = ", ".join(map(one_line, data.ignored[:3])) + (", …" if len(data.ignored) > 3 else "")
    if len(data.ignored) == 1:
        return f". 1 file or folder beside them is not read: {names}"
    return f". {len(data.ignored):,} files or folders beside them are not read: {names}"
