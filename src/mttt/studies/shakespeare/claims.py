"""Claims 14 to 16: how TTT layers read a text, and what undoing costs."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path

from mttt.runs import Record
from mttt.studies.claim import Claim
from mttt.studies.shakespeare.grid import LEARNS, LONGER
from mttt.studies.shakespeare.rows import (
    ALONE,
    ATTENTION,
    DELTA,
    ELU,
    GATED,
    HYENA,
    IDENTITY,
    LINEAR,
    MLP,
    NANOGPT,
    SLIDING,
    TextRow,
)
from mttt.studies.statistics import Part, above, below, counted, informing

CLOSE = 0.05
"""nats: a loss that is higher by less is said to be as good"""
OTHERS = (DELTA, GATED, ELU, IDENTITY, SLIDING, HYENA)
"""rows that decide no claim, reported beside those that do"""


class TextLosses:
    """What was found, by row and seed."""

    def __init__(self, records: Sequence[Record]):
        self.found: dict[str, dict[int, Record]] = {}
        for record in records:
            self.found.setdefault(record["row"], {})[record["seed"]] = record

    def differences(self, row: TextRow, other: TextRow) -> list[float]:
        """TextLosses of one row above those of another, for the seeds that both have."""
        first, second = self.found.get(row.name, {}), self.found.get(other.name, {})
        return [first[seed]["loss"] - second[seed]["loss"] for seed in sorted(first.keys() & second.keys())]

    def close(self, row: TextRow, other: TextRow = ATTENTION) -> Part:
        """Is the loss of a row no more than `CLOSE` above the other's?"""
        return below(f"{row.label} − {other.label}", self.differences(row, other), CLOSE)

    def beyond(self, row: TextRow) -> Part:
        """Is the loss lower beyond the training context than at its end?"""
        records = self.found.get(row.name, {})
        return above(row.label, [longer_gain(records[seed]) for seed in sorted(records)])


def longer_gain(record: Record) -> float:
    """How much lower the loss of the same bytes is, the more of the text was seen before them.

    The second half of every window of n bytes is predicted with n/2 to n bytes before it. In windows of 4·n bytes the
    same bytes of three of four windows are predicted with n, 2·n or 3·n bytes more, and those of the first as before.
    (The last windows of the text, fewer than four, are in the short windows only.)
    """
    context = record["context"]
    short = record["contexts"][str(context)][LEARNS]["by_position"]
    long = record["contexts"][str(LONGER * context)][LEARNS]["by_position"]
    ends = [long[part * context + context // 2 : (part + 1) * context] for part in range(LONGER)]
    before, after = statistics.mean(short[context // 2 :]), statistics.mean(loss for end in ends for loss in end)
    return (before - after) * LONGER / (LONGER - 1)


def text_claims(records: Sequence[Record], speeds: Path) -> list[Claim]:
    """The claims about text, and the one about undoing from the file that `mttt bench sequences` wrote."""
    losses = TextLosses(records)
    return [
        Claim(
            14,
            f"TTT layers are within {CLOSE} of self-attention's loss on text at this scale, or better",
            (
                losses.close(MLP),
                losses.close(LINEAR),
                *(informing(losses.close(row)) for row in OTHERS),
                *(informing(losses.close(MLP, row)) for row in (ALONE, NANOGPT)),
            ),
        ),
        Claim(
            15,
            "Loss by position keeps falling beyond the training context for TTT layers",
            (
                *map(losses.beyond, (MLP, LINEAR)),
                *(informing(losses.beyond(row)) for row in (*OTHERS, ATTENTION)),
            ),
        ),
        Claim(16, "Undoing steps costs less time and memory than storing them", tuple(_undo(speeds))),
    ]


def _undo(speeds: Path) -> list[Part]:
    """Ratios that are measured once, in one process."""
    how = f"mttt bench sequences --json {speeds}"
    rows = json.loads(speeds.read_text(encoding="utf-8"))["rows"] if speeds.is_file() else []
    undo = next((row for row in rows if row["name"] == "undo"), None)
    if undo is None:
        return [counted("undo against storing: not measured", "undecided", "a measurement", how)]
    test = f"{undo['about']}, n = {undo['tokens'][0]:,}; measured once, in turn"
    return [
        counted(f"{what}: {undo[what]:.3f}×", "holds" if undo[what] < 1 else "does not hold", test)
        for what in ("time", "memory")
    ]
