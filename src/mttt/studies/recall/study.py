"""A form of the task with the mixers that are compared on it: what a grid trains, and what a report says of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mttt.runs import Record
from mttt.studies.claim import Claim
from mttt.studies.recall.rows import Recaller


@dataclass(frozen=True)
class RecallStudy:
    """One form of associative recall."""

    name: str
    """of the command, the directory and the figure"""
    title: str
    rows: tuple[Recaller, ...]
    pairs: tuple[int, ...]
    """numbers of pairs, unless others are asked for"""
    steps: int
    """of each training, unless others are asked for"""
    task: str
    """what an input is, and the model, in sentences"""
    chance: str
    tuning: str
    """how the recipe was chosen"""
    claims: Callable[[Sequence[Record]], list[Claim]]
    """what it decides"""
    unit: str
    """of the differences of its claims"""
