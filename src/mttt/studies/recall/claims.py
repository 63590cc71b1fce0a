"""Claim 13: who remembers more."""

from collections.abc import Callable, Sequence

from mttt.runs import Record
from mttt.studies.claim import Claim
from mttt.studies.recall.rows import (
    ASCENT,
    ATTENTION,
    DELTA,
    ELU,
    HEBB,
    IDENTITY,
    LINEAR_1,
    LINEAR_16,
    NO_STEP,
    TTT_MLP_ROW,
    RecallRow,
)
from mttt.studies.statistics import Part, above, informing

MATTERS = 1.28
"""pairs: the smallest difference that matters, 2 % of the most pairs that are asked for"""
SEEN = 3
"""seeds that were seen before the plan: they are reported, and decide nothing"""


class Memories:
    """The accuracies of new seeds, by row, seed and pairs. A training that diverged has none."""

    def __init__(self, records: Sequence[Record]):
        self.accuracies: dict[str, dict[int, dict[int, float]]] = {}
        for record in records:
            if record["accuracy"] is not None and record["seed"] >= SEEN:
                seeds = self.accuracies.setdefault(record["row"], {})
                seeds.setdefault(record["seed"], {})[record["pairs"]] = record["accuracy"]

    def more(self, better: RecallRow, other: RecallRow) -> list[float]:
        """By how many pairs one row's most is above the other's, for each seed, over the pairs that both have."""
        gains, first, second = [], self.accuracies.get(better.name, {}), self.accuracies.get(other.name, {})
        for seed in sorted(first.keys() & second.keys()):
            if both := first[seed].keys() & second[seed].keys():
                gains.append(_most(first[seed], both) - _most(second[seed], both))
        return gains

    def gain(self, better: RecallRow, other: RecallRow) -> Part:
        """Is the one above the other?"""
        return above(f"{better.label} − {other.label}", self.more(better, other), matters=MATTERS)


def _most(accuracies: dict[int, float], pairs: set[int]) -> float:
    """The most pairs that are remembered: how many there are times the part of them that is right."""
    return max(each * accuracies[each] for each in pairs)


def recall_claim(records: Sequence[Record]) -> Claim:
    """What the seeds from `SEEN` on say. Counted are pairs: the most, over all sizes, that a row recalls."""
    gain: Callable[..., Part] = Memories(records).gain
    return Claim(
        13,
        "TTT-MLP recalls more pairs than TTT-Linear, and TTT-Linear more than linear attention, at equal width",
        (
            gain(TTT_MLP_ROW, LINEAR_16),
            gain(LINEAR_16, IDENTITY),
            gain(LINEAR_16, ELU),
            informing(gain(TTT_MLP_ROW, ATTENTION)),
            informing(gain(TTT_MLP_ROW, ASCENT)),
            informing(gain(TTT_MLP_ROW, NO_STEP)),
            informing(gain(LINEAR_1, LINEAR_16)),
            informing(gain(DELTA, LINEAR_1)),
            informing(gain(DELTA, HEBB)),
        ),
    )
