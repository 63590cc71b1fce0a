"""A claim, its verdict, and the correction for many of them."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from mttt.studies.statistics import Part, Verdict, all_of, corrected, p_of

SIGNIFICANT = 0.05
DECIDED = ("holds", "does not hold")


@dataclass(frozen=True)
class Claim:
    """What is claimed, and what the runs say to it."""

    number: int
    text: str
    parts: tuple[Part, ...]
    p: float | None = None
    """of its verdict, corrected for the number of claims; None: nothing was tested, or it stands alone"""

    @property
    def verdict(self) -> Verdict:
        alone = all_of(self.parts)
        return "undecided" if self.p is not None and self.p > SIGNIFICANT and alone in DECIDED else alone

    def json(self) -> dict[str, Any]:
        """The claim, for programs."""
        return {
            "number": self.number,
            "claim": self.text,
            "verdict": self.verdict,
            "p_corrected": self.p,
            "statistics": [asdict(part) for part in self.parts],
        }


def correct(found: list[Claim]) -> list[Claim]:
    """Holm's correction for the number of claims that were tested. A part that was counted decides without a test."""
    ps = [_p(claim) for claim in found]
    family = [index for index, p in enumerate(ps) if p is not None]
    for index, p in zip(family, corrected([p for p in ps if p is not None]), strict=True):
        found[index] = replace(found[index], p=p)
    return found


def _p(claim: Claim) -> float | None:
    """Of a claim's verdict; of one that is undecided, of the verdict that is nearer."""
    if any(part.counts and part.p is None and part.verdict == "does not hold" for part in claim.parts):
        return None
    holds, fails = p_of(claim.parts)
    if holds is None or fails is None:
        return None
    return {"holds": holds, "does not hold": fails}.get(all_of(claim.parts), min(holds, fails))
