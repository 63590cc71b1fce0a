"""Claims and their statistics, for people."""

from collections.abc import Sequence

from mttt.report import Table
from mttt.studies.claim import Claim
from mttt.studies.statistics import Part


def verdict_tables(chosen: Sequence[Claim], unit: str = "percentage points", digits: int = 2) -> list[str | Table]:
    """A table for each claim, and how to read them. `unit` is that of the differences, which have so many `digits`."""
    parts: list[str | Table] = []
    for claim in chosen:
        corrected = "" if claim.p is None else f" Corrected p: {_p(claim.p)}."
        parts.append(f"**Claim {claim.number}. {claim.text}: {claim.verdict}.**{corrected}")
        rows = tuple(_part(part, digits) for part in claim.parts)
        parts.append(
            Table(("", "verdict", "mean", "interval", "p", "test", "what would decide it"), rows, words=(0, 1, 5, 6))
        )
    parts.append(
        f"Differences are in {unit}, paired over seeds. A claim holds if all of its parts do, and does not hold if "
        "one does not; parts for information do not count. A difference that is claimed to be above 0 holds if its "
        "95 % interval is above 0, and does not hold if it is below the smallest difference that matters; one that "
        "is claimed to be below a margin holds if its interval is below it, and does not hold if it is above; a match "
        "holds if its 90 % interval is within the margin, and does not hold if it is outside; else it is undecided. p "
        "belongs to the test that its row names: for a match it is the larger of two, and small if the rows match. The "
        "seeds that would decide a part do so four times in five. Corrected p: that of the claim's verdict, the "
        "largest of its parts if it holds, Bonferroni's over its parts if it does not, then Holm's over all those "
        "that are tested together; above 0.05 the claim is undecided."
    )
    return parts


def _part(part: Part, digits: int) -> tuple[str, ...]:
    spread = "" if part.std is None else f" ± {part.std:.{digits}f}"
    mean = "–" if part.mean is None else f"{part.mean:+.{digits}f}{spread}"
    interval = "–" if part.low is None else f"{part.low:+.{digits}f} … {part.high:+.{digits}f}"
    return part.text, part.verdict, mean, interval, _p(part.p), part.test, part.decide


def _p(p: float | None) -> str:
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
