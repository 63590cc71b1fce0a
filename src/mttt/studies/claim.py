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
    """Holm's correction for the number of claims with tests. A part that was counted decides without one.

    Claims whose numbers are not there yet are among those that are corrected for: what is decided early stays so.
    """
    ps = {index: _p(claim) for index, claim in enumerate(found) if _is_tested(claim)}
    family = dict(zip(ps, corrected([1.0 if p is None else p for p in ps.values()]), strict=True))
    return [replace(claim, p=None if ps.get(index) is None else family[index]) for index, claim in enumerate(found)]


def _is_tested(claim: Claim) -> bool:
    failed = any(part.counts and not part.tested and part.verdict == "does not hold" for part in claim.parts)
    return not failed and any(part.counts and part.tested for part in claim.parts)


def _p(claim: Claim) -> float | None:
    """Of a claim's verdict; of one that is undecided, of the verdict that is nearer."""
    holds, fails = p_of(claim.parts)
    if holds is None or fails is None or any(p.counts and p.tested and p.p is None for p in claim.parts):
        return None  # there are no seeds yet
    return {"holds": holds, "does not hold": fails}.get(all_of(claim.parts), min(holds, fails))
