"""The report of the study: accuracy against pairs, what a row keeps in its state, and the verdict."""

import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mttt.files import write_json
from mttt.report import Page, Picture, Section, Table, plots
from mttt.runs import Record, versions
from mttt.studies.recall.grid import RecallPlace, recall_jobs
from mttt.studies.recall.rows import Recaller
from mttt.studies.recall.study import RecallStudy
from mttt.studies.recall.training import BATCH, CLIP, JUDGED
from mttt.studies.verdicts import verdict_tables

_SOLVED = 0.9
_STATE = (
    " **State**: what one block keeps of a sequence to go on from, in KiB, the tokens of an unfinished chunk and of "
    "the convolution among them; that of self-attention grows with the tokens, and is given for the longest sequence."
)


def write_recall(place: RecallPlace, command: str) -> tuple[Path, Record] | None:
    """report.md, report.html and report.json of all numbers that are there; the page, and the verdict."""
    records = place.everything()
    if not records:
        return None
    study = place.study
    claims = study.claims(records)
    parts: list[str | Table | Picture] = [_table(study, records), _notes(study, records)]
    if plots.can_draw() and (series := _series(study, records)):
        figure = plots.many_lines(series, "pairs to remember", "recalled, %")
        parts.append(
            Picture(study.name, figure, "Recalled pairs against their number: means, and the range of the seeds.")
        )
    sections = [Section("Measured", tuple(parts))]
    sections.append(Section("Verdict", tuple(verdict_tables(claims, study.unit))))
    sections.append(Section("How the recipe was chosen", (study.tuning,)))
    _, html = Page(study.title, _lead(place, records, command), tuple(sections)).write(place.directory)
    record = _json(place, records, command) | {"claims": [claim.json() for claim in claims]}
    write_json(place.directory / "report.json", record)
    return html, record


def _has_states(records: Sequence[Record]) -> bool:
    return any("state_bytes" in record for record in records)


def _notes(study: RecallStudy, records: Sequence[Record]) -> str:
    return (
        "Accuracy in percent where a key is asked for, mean ± standard deviation over seeds where there are several; "
        f"chance is {study.chance}. **Steps to {_SOLVED:.0%}**: after how many steps the trained batches were first "
        "recalled so well, mean over the seeds, at the most pairs at which all of them got there."
    ) + (_STATE if _has_states(records) else "")


def _lead(place: RecallPlace, records: Sequence[Record], command: str) -> tuple[str, ...]:
    pairs, seeds = sorted({r["pairs"] for r in records}), sorted({r["seed"] for r in records})
    there = {(r["row"], r["pairs"], r["seed"]) for r in records}
    wanted = [job for job in recall_jobs(place.study.rows, pairs, max(seeds) + 1) if job.seed in seeds]
    missing = Counter(job.row.label for job in wanted if (job.row.name, job.pairs, job.seed) not in there)
    diverged = [f"{r['row']} ({r['pairs']} pairs, seed {r['seed']})" for r in records if r["accuracy"] is None]
    origins = {f"{r['machine']}, mttt {r['versions']['mttt']}, jax {r['versions']['jax']}" for r in records}
    lead = [
        f"{place.study.task} Loss at the questions only; {place.steps} steps of Adam (peak "
        f"{place.study.rows[0].peak:g}, a tenth of the steps warm-up, then cosine; clip {CLIP:g}) on {BATCH} new "
        f"inputs each; judged by {JUDGED} others.",
        f"Pairs {', '.join(map(str, pairs))}; seeds {', '.join(map(str, seeds))}. Written by `{command}`. "
        f"Trained in {sum(r['seconds'] for r in records) / 60:.0f} minutes in all, on {'; '.join(sorted(origins))}.",
    ]
    if missing:
        named = ", ".join(f"{count} of {label}" for label, count in missing.items())
        lead.append(f"**Not complete.** Trainings that are missing: {named}.")
    if diverged:
        lead.append(f"**Diverged**, their loss became infinite: {', '.join(diverged)}.")
    return tuple(lead)


def _of(records: Sequence[Record], row: Recaller, pairs: int | None = None) -> list[Record]:
    return [r for r in records if r["row"] == row.name and pairs in (None, r["pairs"])]


def _accuracies(records: Sequence[Record]) -> list[float]:
    return [100 * r["accuracy"] for r in records if r["accuracy"] is not None]


def _series(study: RecallStudy, records: Sequence[Record]) -> dict[str, dict[int, list[float]]]:
    """Of the rows that are trained with all numbers of pairs."""
    pairs, rows = sorted({r["pairs"] for r in records}), [row for row in study.rows if row.pairs is None]
    found = {row.label: {p: _accuracies(_of(records, row, p)) for p in pairs} for row in rows}
    kept = {label: {p: values for p, values in points.items() if values} for label, points in found.items()}
    return {label: points for label, points in kept.items() if points}


def _table(study: RecallStudy, records: Sequence[Record]) -> Table:
    pairs, states = sorted({r["pairs"] for r in records}), _has_states(records)
    state = ("state, KiB",) if states else ()
    head = ("mixer", *state, "parameters", *(f"{p} pairs" for p in pairs), f"steps to {_SOLVED:.0%}")
    rows = []
    for row in study.rows:
        if own := _of(records, row):
            kept = (f"{max(r['state_bytes'] for r in own) / 1024:.1f}",) if states else ()
            cells = [_spread(_accuracies(_of(records, row, p))) for p in pairs]
            rows.append((row.label, *kept, f"{own[0]['parameters']:,}", *cells, _solved(records, row)))
    return Table(head, tuple(rows))


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    spread = f" ± {statistics.stdev(values):.1f} ({len(values)})" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"


def _solved(records: Sequence[Record], row: Recaller) -> str:
    for pairs in sorted({r["pairs"] for r in records}, reverse=True):
        own = _of(records, row, pairs)
        first = [next((c["step"] for c in r["curve"] if c["accuracy"] >= _SOLVED), None) for r in own]
        known = [step for step in first if step is not None]
        if own and len(known) == len(own):
            return f"{statistics.mean(known):.0f} ({pairs} pairs)"
    return "–"


def _json(place: RecallPlace, records: Sequence[Record], command: str) -> dict[str, Any]:
    keys = ("row", "pairs", "seed", "accuracy", "loss", "other_steps", "state_bytes", "parameters", "seconds")
    return {
        "study": place.study.name,
        "command": command,
        "steps": place.steps,
        "rows": [{key: record[key] for key in keys if key in record} for record in records],
        "reported_with": versions(),
    }
