"""The report of the study: losses, with W learning and frozen; the loss by position; and the verdicts."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mttt.data.plural import counted
from mttt.files import write_json
from mttt.report import Page, Picture, Section, Table, plots
from mttt.runs import Record, versions
from mttt.studies.shakespeare.claims import longer_gain, text_claims
from mttt.studies.shakespeare.grid import FROZEN, LEARNS, LONGER, TextPlace
from mttt.studies.shakespeare.rows import NANOGPT, ROWS, TextRow
from mttt.studies.verdicts import verdict_tables

PUBLISHED, MARGIN = 1.88, 0.02
"""nanoGPT's loss, of characters, and how near ours is to come"""
_BLOCK = 8
"""places whose mean is one point of the figure"""


def write_text(place: TextPlace, command: str, speeds: Path) -> tuple[Path, Record] | None:
    """report.md, report.html and report.json of all runs that are there; the page, and what is in the JSON file."""
    records = place.everything()
    if not records:
        return None
    claims = text_claims(records, speeds)
    parts: list[str | Table | Picture] = [_table(records), _notes(records), *_pictures(records)]
    sections = (Section("Measured", tuple(parts)), Section("Verdicts", tuple(verdict_tables(claims, "nats", digits=3))))
    _, html = Page("Shakespeare", _lead(records, command), sections).write(place.directory)
    record = _json(records, command) | {"claims": [claim.json() for claim in claims]}
    write_json(place.directory / "report.json", record)
    return html, record


def _of(records: Sequence[Record], row: TextRow) -> list[Record]:
    return [record for record in records if record["row"] == row.name]


def _lead(records: Sequence[Record], command: str) -> tuple[str, ...]:
    seeds = sorted({record["seed"] for record in records})
    there = {(record["row"], record["seed"]) for record in records}
    missing = [f"{row.name} (seed {seed})" for row in ROWS for seed in seeds if (row.name, seed) not in there]
    lead = [
        "The preset `shakespeare` with another mixer in each row: nanoGPT's recipe for CPUs, 2,000 steps of 12 windows "
        "of 64 bytes, four blocks of width 128. Loss of the next byte in nats on the last tenth of the text. "
        f"Seeds {', '.join(map(str, seeds))}. Written by `{command}`.",
    ]
    if missing:
        lead.append(f"**Not complete**, not trained: {', '.join(missing)}.")
    if first := [record["loss"] for record in _of(records, NANOGPT)]:
        mean = statistics.mean(first)
        near = "within" if abs(mean - PUBLISHED) <= MARGIN else "not within"
        lead.append(
            f"nanoGPT's model comes to {mean:.4f} ({counted(len(first), 'seed')}); published, with characters for "
            f"tokens, is {PUBLISHED}: {near} ± {MARGIN} of it."
        )
    return tuple(lead)


def _notes(records: Sequence[Record]) -> str:
    context = records[0]["context"]
    return (
        "Means ± standard deviations over seeds. **W₀ frozen**: the trained model, in which no token changes W. "
        f"**{LONGER * context}**: in windows of so many bytes, {LONGER} times as many as in training. "
        "**More context**: how much lower the loss of the same bytes is with one to three times the training context "
        "more before them; below 0 it is higher."
    )


def _table(records: Sequence[Record]) -> Table:
    context = records[0]["context"]
    head = ("mixer", "parameters", "seeds", "loss", "bits per byte", "W₀ frozen", f"{LONGER * context}", "more context")
    rows = []
    for row in ROWS:
        if own := _of(records, row):
            losses = [record["loss"] for record in own]
            longer = [record for record in own if str(LONGER * context) in record["contexts"]]
            long = [record["contexts"][str(LONGER * context)][LEARNS]["loss"] for record in longer]
            still = [w[FROZEN]["loss"] for record in own if FROZEN in (w := record["contexts"][str(context)])]
            bits = statistics.mean(record["contexts"][str(context)][LEARNS]["bits_per_byte"] for record in own)
            cells = (
                _spread(losses),
                f"{bits:.3f}",
                _spread(still),
                _spread(long),
                _spread(list(map(longer_gain, longer))),
            )
            rows.append((row.label, f"{own[0]['parameters']:,}", str(len(own)), *cells))
    return Table(head, tuple(rows))


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    return f"{statistics.mean(values):.4f}" + (f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else "")


def _pictures(records: Sequence[Record]) -> list[Picture]:
    series: dict[str, dict[int, list[float]]] = {}
    for row in ROWS:
        for record in _of(records, row):
            longest = max(record["contexts"], key=int)
            places = record["contexts"][longest][LEARNS]["by_position"]
            for begin in range(0, len(places) - len(places) % _BLOCK, _BLOCK):
                at = series.setdefault(row.label, {}).setdefault(begin + _BLOCK, [])
                at.append(statistics.mean(places[begin : begin + _BLOCK]))
    if not series or not plots.can_draw():
        return []
    figure = plots.many_lines(series, "bytes of context", "cross entropy of the next byte", dots=False)
    caption = (
        f"Loss by position, means of {_BLOCK} places and the range of the seeds. The models were trained on windows of "
        f"{records[0]['context']} bytes; what is right of that they never saw."
    )
    return [Picture("positions", figure, caption)]


def _json(records: Sequence[Record], command: str) -> dict[str, Any]:
    keys = ("row", "seed", "loss", "accuracy", "parameters")
    return {
        "study": "shakespeare",
        "command": command,
        "rows": [{key: record[key] for key in keys} | {"losses": _losses(record)} for record in records],
        "reported_with": versions(),
    }


def _losses(record: Record) -> dict[str, dict[str, float]]:
    return {
        context: {name: found["loss"] for name, found in ways.items()} for context, ways in record["contexts"].items()
    }
