"""Claims 17 to 20: what recall in a set says of the paper's ordering, and of what the inner loop does."""

import statistics
from collections.abc import Callable, Sequence
from functools import partial

from mttt.runs import Record
from mttt.studies.claim import Claim, correct
from mttt.studies.recall.rows import Recaller
from mttt.studies.recall.set_rows import (
    ABLATED,
    ASCENT,
    ATTENTION,
    FULL,
    HARD,
    IDENTITY,
    LEARNED,
    MIDDLE,
    MTTT_LINEAR,
    MTTT_MLP,
    NO_STEP,
    PAIRS,
    RANDOM,
    SGD,
)
from mttt.studies.statistics import Part, above, informing

MATTERS = 2.0
"""percentage points of recalled pairs: the smallest difference that matters"""


class Accuracies:
    """Accuracies in percent, by row and seed. A training that diverged has none."""

    def __init__(self, records: Sequence[Record]):
        self.records = [record for record in records if record["accuracy"] is not None]

    def at(self, pairs: int, row: Recaller) -> dict[int, float]:
        """With so many pairs."""
        return {r["seed"]: 100 * r["accuracy"] for r in self.records if (r["row"], r["pairs"]) == (row.name, pairs)}

    def mean(self, row: Recaller) -> dict[int, float]:
        """Over the study's numbers of pairs, of the seeds that have them all."""
        each = [self.at(pairs, row) for pairs in PAIRS]
        return {seed: statistics.mean(found[seed] for found in each) for seed in set.intersection(*map(set, each))}

    def with_steps(self, row: Recaller, steps: int) -> dict[int, float]:
        """At the most pairs, of the trained model with another number of inner steps."""
        own = [r for r in self.records if (r["row"], r["pairs"]) == (row.name, HARD) and "other_steps" in r]
        return {r["seed"]: 100 * r["other_steps"][str(steps)] for r in own if str(steps) in r["other_steps"]}


def _gains(better: dict[int, float], other: dict[int, float]) -> list[float]:
    return [better[seed] - other[seed] for seed in sorted(better.keys() & other.keys())]


def set_claims(records: Sequence[Record]) -> list[Claim]:
    """All four, corrected for their number."""
    found = Accuracies(records)
    return correct([claim(found) for claim in (_ordering, _direction, _own_steps, _changes)])


def _part(
    measure: Callable[[Recaller], dict[int, float]], better: Recaller, other: Recaller, bound: float = 0.0
) -> Part:
    text = f"{better.label} − {other.label}"
    return above(text, _gains(measure(better), measure(other)), bound, 0.0 if bound else MATTERS)


def _ordering(found: Accuracies) -> Claim:
    return Claim(
        17,
        "Recall in a set, mean over the numbers of pairs: linear attention ≤ MTTT-Linear < MTTT-MLP ≤ SGD T = 4 "
        f"(≤: not worse by {MATTERS:g} points)",
        (
            _part(found.mean, MTTT_LINEAR, IDENTITY, -MATTERS),
            _part(found.mean, MTTT_MLP, MTTT_LINEAR),
            _part(found.mean, SGD, MTTT_MLP, -MATTERS),
            informing(_part(found.mean, ATTENTION, MTTT_MLP)),
        ),
    )


def _direction(found: Accuracies) -> Claim:
    hard = partial(found.at, HARD)
    return Claim(
        18,
        f"Recall of {HARD} pairs: descent is better than ascent, than a random direction and than no step",
        (
            *(_part(hard, MTTT_MLP, other) for other in (ASCENT, RANDOM, NO_STEP)),
            informing(_part(hard, ASCENT, NO_STEP)),
            informing(_part(hard, LEARNED, MTTT_MLP)),
        ),
    )


def _own_steps(found: Accuracies) -> Claim:
    own = MTTT_MLP.trained_steps
    return Claim(
        19,
        f"Recall of {HARD} pairs: a trained MTTT-MLP is at its best with its own T = {own}",
        tuple(
            above(
                f"with T = {own} − with T = {other}",
                _gains(found.with_steps(MTTT_MLP, own), found.with_steps(MTTT_MLP, other)),
                matters=MATTERS,
            )
            for other in MTTT_MLP.probe
            if other != own
        ),
    )


def _changes(found: Accuracies) -> Claim:
    middle = partial(found.at, MIDDLE)
    return Claim(
        20,
        f"Recall of {MIDDLE} pairs: four changes of later work together help MTTT-MLP: values for targets, unit keys, "
        "LN(f(x)) + x, a gated sum",
        (
            _part(middle, FULL, MTTT_MLP),
            *(informing(_part(middle, FULL, other)) for other in ABLATED if other is not FULL),
            *(informing(_part(middle, other, MTTT_MLP)) for other in ABLATED if other is not FULL),
            informing(_part(middle, FULL, ATTENTION)),
        ),
    )
