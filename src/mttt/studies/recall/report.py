"""The report of the study: accuracy against pairs, what a row keeps in its state, and the verdict."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mttt.files import write_json
from mttt.report import Page, Picture, Section, Table, plots
from mttt.runs import Record, versions
from mttt.studies.recall.claims import recall_claim
from mttt.studies.recall.grid import RecallPlace
from mttt.studies.recall.model import CONVOLUTION
from mttt.studies.recall.rows import ROWS, SIZE, RecallRow
from mttt.studies.recall.training import BATCH, CLIP, JUDGED, PEAK
from mttt.studies.verdicts import verdict_tables

_SOLVED = 0.9
_NOTES = (
    "Accuracy in percent where a key is asked for, mean ± standard deviation over seeds where there are several; "
    f"chance is 0.4. **Steps to {_SOLVED:.0%}**: after how many steps the trained batches were first recalled so well, "
    "mean over the seeds, at the most pairs at which all of them got there. **State**: what one block keeps of a "
    "sequence to go on from, in KiB, the tokens of an unfinished chunk and of the convolution among them; that of "
    "self-attention grows with the tokens, and is given for the longest sequence."
)

TUNING = (
    "Four choices were made by looking at results of trials whose programs were not kept, with other seeds than those "
    "here unless it is said, at 16 pairs. **The "
    "convolution's first taps**: with the identity self-attention recalled 7 % of the last batches after 400 steps, "
    "with N(0, 1/3) 6 % after 280, with the identity plus N(0, 0.5²) 84 % after 320, which was kept. **Logits with "
    "weights of their own**: with the embedding's, self-attention recalled 11 % after 600 steps in one draw of "
    "weights; with their own, 99 % after 200. **W₀ of TTT-MLP and TTT-Linear** is drawn as the layers' authors draw "
    "it: with Xavier's numbers TTT-Linear recalled 4 % after 600 steps (tied logits), with a tenth of them 44 % after "
    "320. **A norm behind the heads of the delta rule**, as DeltaNet has it: 8 % without and 6 % with it (seed 0 of "
    "those here), 92 and 83 % (another seed), 75 % with it (a third). It was kept, but is not what decides. Nothing "
    "else was tuned, for no row."
)


def write_recall(place: RecallPlace, command: str) -> tuple[Path, Record] | None:
    """report.md, report.html and report.json of all numbers that are there; the page, and the verdict."""
    records = place.everything()
    if not records:
        return None
    claim = recall_claim(records)
    parts: list[str | Table | Picture] = [_table(records), _NOTES]
    if plots.can_draw() and (series := _series(records)):
        figure = plots.many_lines(series, "pairs to remember", "recalled, %")
        parts.append(
            Picture("recall", figure, "Recalled pairs against their number: means, and the range of the seeds.")
        )
    verdict = Section("Verdict", tuple(verdict_tables([claim], "pairs, the most that a row recalls")))
    sections = (Section("Measured", tuple(parts)), verdict, Section("How the recipe was chosen", (TUNING,)))
    _, html = Page("Multi-query associative recall", _lead(place, records, command), sections).write(place.directory)
    record = _json(place, records, command) | {"claims": [claim.json()]}
    write_json(place.directory / "report.json", record)
    return html, record


def _lead(place: RecallPlace, records: Sequence[Record], command: str) -> tuple[str, ...]:
    pairs, seeds = sorted({r["pairs"] for r in records}), sorted({r["seed"] for r in records})
    there = {(r["row"], r["pairs"], r["seed"]) for r in records}
    every = {row: [(row.name, each, seed) for each in pairs for seed in seeds] for row in ROWS}
    missing = {row: sum(one not in there for one in each) for row, each in every.items()}
    diverged = [f"{r['row']} ({r['pairs']} pairs, seed {r['seed']})" for r in records if r["accuracy"] is None]
    origins = {f"{r['machine']}, mttt {r['versions']['mttt']}, jax {r['versions']['jax']}" for r in records}
    lead = [
        "P pairs of a key and a value, then every key once more in another order: what was its value? Sequences of 4·P "
        f"tokens, vocabulary 512. {SIZE.depth} blocks without MLPs, d = {SIZE.dim}, {SIZE.heads} heads, a causal "
        f"convolution of width {CONVOLUTION} before each mixer; loss at the questions only; {place.steps} steps of "
        f"Adam (peak {PEAK:g}, a tenth of the steps warm-up, then cosine; clip {CLIP:g}) on {BATCH} new sequences "
        f"each; judged by {JUDGED} others.",
        f"Pairs {', '.join(map(str, pairs))}; seeds {', '.join(map(str, seeds))}. Written by `{command}`. "
        f"Trained in {sum(r['seconds'] for r in records) / 60:.0f} minutes in all, on {'; '.join(sorted(origins))}.",
    ]
    if any(missing.values()):
        named = ", ".join(f"{count} of {row.label}" for row, count in missing.items() if count)
        lead.append(f"**Not complete.** Trainings that are missing: {named}.")
    if diverged:
        lead.append(f"**Diverged**, their loss became infinite: {', '.join(diverged)}.")
    return tuple(lead)


def _of(records: Sequence[Record], row: RecallRow, pairs: int | None = None) -> list[Record]:
    return [r for r in records if r["row"] == row.name and pairs in (None, r["pairs"])]


def _accuracies(records: Sequence[Record]) -> list[float]:
    return [100 * r["accuracy"] for r in records if r["accuracy"] is not None]


def _series(records: Sequence[Record]) -> dict[str, dict[int, list[float]]]:
    pairs = sorted({r["pairs"] for r in records})
    found = {row.label: {p: _accuracies(_of(records, row, p)) for p in pairs} for row in ROWS}
    kept = {label: {p: values for p, values in points.items() if values} for label, points in found.items()}
    return {label: points for label, points in kept.items() if points}


def _table(records: Sequence[Record]) -> Table:
    pairs = sorted({r["pairs"] for r in records})
    head = ("mixer", "state, KiB", "parameters", *(f"{p} pairs" for p in pairs), f"steps to {_SOLVED:.0%}")
    rows = []
    for row in ROWS:
        if own := _of(records, row):
            state = max(r["state_bytes"] for r in own) / 1024
            cells = [_spread(_accuracies(_of(records, row, p))) for p in pairs]
            rows.append((row.label, f"{state:.1f}", f"{own[0]['parameters']:,}", *cells, _solved(records, row)))
    return Table(head, tuple(rows))


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    spread = f" ± {statistics.stdev(values):.1f} ({len(values)})" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"


def _solved(records: Sequence[Record], row: RecallRow) -> str:
    for pairs in sorted({r["pairs"] for r in records}, reverse=True):
        own = _of(records, row, pairs)
        first = [next((c["step"] for c in r["curve"] if c["accuracy"] >= _SOLVED), None) for r in own]
        known = [step for step in first if step is not None]
        if own and len(known) == len(own):
            return f"{statistics.mean(known):.0f} ({pairs} pairs)"
    return "–"


def _json(place: RecallPlace, records: Sequence[Record], command: str) -> dict[str, Any]:
    keys = ("row", "pairs", "seed", "accuracy", "loss", "state_bytes", "parameters", "seconds")
    return {
        "study": "recall",
        "command": command,
        "steps": place.steps,
        "rows": [{key: record[key] for key in keys} for record in records],
        "reported_with": versions(),
    }
