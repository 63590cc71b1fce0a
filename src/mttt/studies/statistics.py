"""Comparisons over seeds, and what they decide.

Two rows are compared by their differences at equal seeds (equal data order and batches): a paired t-test. With 95 %
confidence, a difference that is claimed to be above 0 holds if its interval is above 0, does not hold if the interval
is below 0, and is undecided otherwise. A difference that is claimed to be small holds if its 90 % interval lies within
the margin (two one-sided tests at 5 %), and does not hold if that interval lies outside of it. There is no correction
for the number of claims.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import stats

Verdict = Literal["holds", "does not hold", "undecided", "not measured"]


@dataclass(frozen=True)
class Part:
    """One comparison, or one count, that a claim rests on."""

    text: str
    verdict: Verdict
    mean: float | None = None
    std: float | None = None
    seeds: int = 0
    low: float | None = None
    high: float | None = None
    p: float | None = None
    test: str = ""
    decide: str = ""
    """what would decide it, if it is undecided"""


def interval(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Student's interval for the mean."""
    n = len(values)
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * statistics.stdev(values) / math.sqrt(n)
    return statistics.mean(values) - half, statistics.mean(values) + half


def _p(values: Sequence[float], mean: float = 0.0) -> float:
    """Two-sided p of the t-test that the values have this mean."""
    spread = statistics.stdev(values)
    if spread == 0:
        return 0.0 if statistics.mean(values) != mean else 1.0
    t = (statistics.mean(values) - mean) / (spread / math.sqrt(len(values)))
    return float(2 * stats.t.sf(abs(t), len(values) - 1))


def _seeds_needed(values: Sequence[float], distance: float) -> str:
    """How many seeds would tell a difference of this size from nothing, four times in five."""
    spread = statistics.stdev(values)
    if distance == 0 or spread == 0:
        return "no number of seeds would: the difference is 0"
    for n in range(len(values) + 1, 1000):
        df = n - 1
        shift = abs(distance) / spread * math.sqrt(n)
        if float(stats.nct.sf(stats.t.ppf(0.975, df), df, shift)) >= 0.8:
            return f"about {n} seeds, if the difference is what it seems to be"
    return "more than 1000 seeds, if the difference is what it seems to be: it is practically nothing"


def _few(text: str, values: Sequence[float]) -> Part:
    mean = statistics.mean(values) if values else None
    verdict: Verdict = "undecided" if values else "not measured"
    return Part(text, verdict, mean, None, len(values), decide="at least two seeds" if values else "the runs")


def above(text: str, differences: Sequence[float]) -> Part:
    """The differences are claimed to be above 0."""
    if len(differences) < 2:
        return _few(text, differences)
    low, high = interval(differences, 0.95)
    verdict: Verdict = "holds" if low > 0 else "does not hold" if high < 0 else "undecided"
    mean = statistics.mean(differences)
    decide = _seeds_needed(differences, mean) if verdict == "undecided" else ""
    return Part(
        text,
        verdict,
        mean,
        statistics.stdev(differences),
        len(differences),
        low,
        high,
        _p(differences),
        "paired t-test, two-sided; 95 % interval",
        decide,
    )


def within(text: str, differences: Sequence[float], margin: float) -> Part:
    """The differences are claimed to be within ± the margin."""
    if len(differences) < 2:
        return _few(text, differences)
    low, high = interval(differences, 0.9)
    inside, outside = -margin < low and high < margin, high < -margin or low > margin
    verdict: Verdict = "holds" if inside else "does not hold" if outside else "undecided"
    mean = statistics.mean(differences)
    decide = _seeds_needed(differences, margin - abs(mean)) if verdict == "undecided" else ""
    # Of the two one-sided tests, the one that is harder to pass.
    p = max(_p(differences, -margin), _p(differences, margin)) / 2 if inside else None
    return Part(
        text,
        verdict,
        mean,
        statistics.stdev(differences),
        len(differences),
        low,
        high,
        p,
        f"two one-sided paired t-tests, margin ±{margin:g}; 90 % interval",
        decide,
    )


def below(text: str, differences: Sequence[float], margin: float) -> Part:
    """The differences are claimed to be less than a margin that would matter."""
    if len(differences) < 2:
        return _few(text, differences)
    part = above(text, [margin - difference for difference in differences])
    mean = statistics.mean(differences)
    assert part.low is not None and part.high is not None
    return Part(
        text,
        part.verdict,
        mean,
        part.std,
        part.seeds,
        margin - part.high,
        margin - part.low,
        part.p,
        f"paired t-test against a margin of {margin:g}, two-sided; 95 % interval",
        _seeds_needed(differences, margin - mean) if part.verdict == "undecided" else "",
    )


def counted(text: str, verdict: Verdict, test: str, decide: str = "") -> Part:
    """What is counted or measured once, without chance."""
    return Part(text, verdict, test=test, decide=decide)


def all_of(parts: Iterable[Part]) -> Verdict:
    """A claim holds if all of it does, and does not if a part of it does not."""
    verdicts = [part.verdict for part in parts]
    for worst in ("not measured", "does not hold", "undecided"):
        if worst in verdicts:
            return worst
    return "holds"
