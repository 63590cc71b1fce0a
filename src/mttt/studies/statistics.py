"""Comparisons over seeds, and what they decide.

Two rows are compared by their differences at equal seeds (equal data order and batches): a paired t-test. A difference
that is claimed to be above a bound holds if its 95 % interval is above the bound. It does not hold if the interval is
below the bound plus `matters`, the smallest difference that would matter; else it is undecided. A difference that is
claimed to be small holds if its 90 % interval lies within the margin (two one-sided tests at 5 %), and does not hold if
that interval lies outside of it. Each part has a p for both verdicts, so that claims can be corrected for their number.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from scipy import stats

Verdict = Literal["holds", "does not hold", "undecided", "not measured", "for information"]


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
    counts: bool = True
    """does the claim rest on it?"""
    p_holds: float | None = None
    """p of the test by which it would hold"""
    p_fails: float | None = None
    """p of the test by which it would not"""
    tested: bool = True
    """is it decided by a test, as soon as there are seeds?"""


def interval(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Student's interval for the mean."""
    n = len(values)
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * statistics.stdev(values) / math.sqrt(n)
    return statistics.mean(values) - half, statistics.mean(values) + half


def _p_above(values: Sequence[float], bound: float) -> float:
    """One-sided p of the t-test that the mean is above a bound."""
    distance, spread = statistics.mean(values) - bound, statistics.stdev(values)
    if spread == 0:
        return 0.5 if distance == 0 else float(distance < 0)
    return float(stats.t.sf(distance / (spread / math.sqrt(len(values))), len(values) - 1))


def _seeds_needed(values: Sequence[float], distances: Sequence[float], quantile: float) -> str:
    """How many seeds would tell a mean at these distances from its bounds from all of them, four times in five."""
    spread = statistics.stdev(values)
    if min(distances) == 0 or spread == 0:
        return "no number of seeds, if the mean is what it seems to be: it is on the bound"
    for n in range(len(values) + 1, 1000):
        powers = [
            float(stats.nct.sf(stats.t.ppf(quantile, n - 1), n - 1, distance / spread * math.sqrt(n)))
            for distance in distances
        ]
        if sum(powers) - (len(powers) - 1) >= 0.8:
            return f"about {n} seeds, if mean and spread are what they seem to be"
    return "more than 1000 seeds, if mean and spread are what they seem to be"


def _few(text: str, values: Sequence[float]) -> Part:
    mean = statistics.mean(values) if values else None
    verdict: Verdict = "undecided" if values else "not measured"
    decide = "at least two seeds" if values else "seeds that every row here has a run of that did not diverge"
    return Part(text, verdict, mean, None, len(values), decide=decide)


def _judge(inside: bool, outside: bool) -> Verdict:
    return "holds" if inside else "does not hold" if outside else "undecided"


def _compared(text: str, differences: Sequence[float], confidence: float, low_bound: float, high_bound: float) -> Part:
    """Is the mean's interval between two bounds, beyond one of them, or neither?"""
    low, high = interval(differences, confidence)
    return Part(
        text,
        _judge(low_bound < low and high < high_bound, high < low_bound or low > high_bound),
        statistics.mean(differences),
        statistics.stdev(differences),
        len(differences),
        low,
        high,
    )


def above(text: str, differences: Sequence[float], bound: float = 0.0, matters: float = 0.0) -> Part:
    """The differences are claimed to be above a bound. One that is surely smaller than `matters` does not hold."""
    if len(differences) < 2:
        return _few(text, differences)
    part = _compared(text, differences, 0.95, bound, math.inf)
    if part.verdict == "undecided" and part.high is not None and part.high < bound + matters:
        part = replace(part, verdict="does not hold")
    holds = 2 * min(0.5, _p_above(differences, bound))
    fails = 2 * min(0.5, 1 - _p_above(differences, bound + matters))
    against = f" against {bound:g}" if bound else ""
    p = min(1.0, 2 * min(_p_above(differences, bound), 1 - _p_above(differences, bound)))
    if part.verdict == "does not hold":
        against, p = f" against {bound + matters:g}", fails
    mean = statistics.mean(differences)
    # A mean between the two bounds is told from the farther of them with fewer seeds.
    distances = [abs(mean - bound)] if mean > bound + matters / 2 else [abs(mean - bound - matters)]
    return _told(
        replace(part, p_holds=holds, p_fails=fails),
        p,
        f"paired t-test{against}, two-sided; 95 % interval",
        _seeds_needed(differences, distances, 0.975),
    )


def below(text: str, differences: Sequence[float], bound: float) -> Part:
    """The differences are claimed to be below a bound."""
    part = above(text, differences, bound)
    opposite: dict[Verdict, Verdict] = {"holds": "does not hold", "does not hold": "holds"}
    verdict = opposite.get(part.verdict, part.verdict)
    return replace(part, verdict=verdict, p_holds=part.p_fails, p_fails=part.p_holds)


def within(text: str, differences: Sequence[float], margin: float) -> Part:
    """The differences are claimed to be within ± the margin."""
    if len(differences) < 2:
        return _few(text, differences)
    mean = statistics.mean(differences)
    inside = abs(mean) < margin
    over, under = _p_above(differences, margin), 1 - _p_above(differences, -margin)
    small = max(_p_above(differences, -margin), 1 - _p_above(differences, margin))
    part = replace(_compared(text, differences, 0.9, -margin, margin), p_holds=small, p_fails=min(over, under))
    return _told(
        part,
        min(over, under) if part.verdict == "does not hold" else small,
        f"two one-sided paired t-tests, margin ±{margin:g}; 90 % interval",
        _seeds_needed(differences, [margin - mean, margin + mean] if inside else [abs(mean) - margin], 0.95),
    )


def _told(part: Part, p: float, test: str, decide: str) -> Part:
    """With its p, its test, and what would decide it if it is undecided."""
    return replace(part, p=p, test=test, decide=decide if part.verdict == "undecided" else "")


def informing(part: Part) -> Part:
    """A comparison that is worth knowing, and that the claim does not rest on."""
    verdict: Verdict = "not measured" if part.verdict == "not measured" else "for information"
    return replace(part, verdict=verdict, decide="", counts=False)


def counted(text: str, verdict: Verdict, test: str, decide: str = "") -> Part:
    """What is counted or measured once, without chance."""
    return Part(text, verdict, test=test, decide=decide, tested=False)


def all_of(parts: Iterable[Part]) -> Verdict:
    """A claim does not hold if a part of it does not, and holds if all of it does."""
    verdicts = [part.verdict for part in parts if part.counts]
    for worst in ("does not hold", "not measured", "undecided"):
        if worst in verdicts:
            return worst
    return "holds" if verdicts else "not measured"


def p_of(parts: Iterable[Part]) -> tuple[float | None, float | None]:
    """p that all tested parts of a claim hold, the largest of theirs; and p that one does not, after Bonferroni."""
    tested = [(part.p_holds, part.p_fails) for part in parts if part.counts]
    holds = [p for p, _ in tested if p is not None]
    fails = [p for _, p in tested if p is not None]
    return max(holds, default=None), min(1.0, len(fails) * min(fails)) if fails else None


def corrected(ps: Sequence[float]) -> list[float]:
    """Holm's correction for many claims: as many p, each to be compared with 5 % as if it were alone."""
    order, found, most = sorted(range(len(ps)), key=ps.__getitem__), [0.0] * len(ps), 0.0
    for place, index in enumerate(order):
        most = max(most, min(1.0, (len(ps) - place) * ps[index]))
        found[index] = most
    return found
