"""A report for each study: tables and pictures of what was measured, the paper's figures beside them, and verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mttt.files import write_json
from mttt.report import Page, Picture, Section, Table, plots
from mttt.runs import versions
from mttt.studies.all import ALL_ROWS, STUDIES
from mttt.studies.claim import Claim
from mttt.studies.claims import Evidence, claims
from mttt.studies.grid import Place
from mttt.studies.measured import SPEEDS, Measured, measure, relative_flops, relative_time
from mttt.studies.paper import printed
from mttt.studies.pictures import draw
from mttt.studies.row import Row, Study
from mttt.studies.scale import Seeds
from mttt.studies.verdicts import verdict_tables


@dataclass(frozen=True)
class Findings:
    """All that reports are made of."""

    place: Place
    seeds: Seeds
    evidence: Evidence
    claims: list[Claim]
    command: str

    def rows(self, study: Study) -> list[Measured]:
        """The rows of a study that have a run."""
        return [self.evidence.rows[row.name] for row in study.rows if row.name in self.evidence.rows]

    def base(self, study: Study) -> Measured | None:
        """What a study's FLOPs and times are relative to, if it is there."""
        return self.evidence.rows.get(study.base)


LENGTHS = "lengths.json"  # beside the runs


def find(place: Place, seeds: int | Seeds, command: str) -> Findings:
    """Read the runs that are there, and judge. Rows with fewer than so many seeds are said to be not complete."""
    coarse = "coarse" in place.scale.looks
    evidence = Evidence(measure(place, ALL_ROWS), place.kept(LENGTHS), coarse=coarse)
    many = dict.fromkeys(place.scale.looks, seeds) if isinstance(seeds, int) else seeds
    return Findings(place, many, evidence, claims(evidence), command)


# Which claims a study has something to say to.
CLAIMS_OF = {
    "table1": (1, 2, 9, 21),
    "table2": (6,),
    "table3": (1, 2, 3, 8, 21),
    "figure1-left": (4, 5),
    "figure1-right": (7,),
    "controls": (11, 12),
}


def write_report(findings: Findings, study: Study, directory: Path) -> Path:
    """report.md, report.html and report.json of a study."""
    chosen = [claim for claim in findings.claims if claim.number in CLAIMS_OF[study.name]]
    sections = [Section("Measured", (_table(findings, study), *_notes(study)))]
    if pictures := draw(study, findings.rows(study), findings.evidence.rows):
        sections.append(Section("Pictures", tuple(pictures)))
    sections.append(Section("Verdicts", tuple(verdict_tables(chosen))))
    _, page = Page(study.title, _lead(findings, study.rows), tuple(sections)).write(directory)
    rows = [measured.json(study, findings.base(study)) for measured in findings.rows(study)]
    write_json(directory / "report.json", _json(findings, study.name, rows, chosen))
    return page


def write_claims(findings: Findings, directory: Path) -> Path:
    """The same for all claims at once."""
    overview = Table(
        ("", "claim", "verdict"),
        tuple((str(claim.number), claim.text, claim.verdict) for claim in findings.claims),
        words=(0, 1, 2),
    )
    sections = [Section("All of them", (overview,)), Section("Statistics", tuple(verdict_tables(findings.claims)))]
    if findings.evidence.lengths is not None and plots.can_draw():
        lengths = findings.evidence.lengths
        caption = (
            f"One layer of width {lengths['dim']} with {lengths['heads']} heads, one input, forward and backward: "
            "learners with parameters (lines) and kernels (dashed). Memory is that of the compiled program."
        )
        picture = Picture("growth", plots.growth(lengths["lengths"], lengths["layers"]), caption)
        sections.append(Section("Time and memory against n (claim 10)", (picture,)))
    _, page = Page("The paper's claims, measured", _lead(findings, ALL_ROWS), tuple(sections)).write(directory)
    rows = [
        measured.json(study, findings.base(study)) | {"study": study.name}
        for study in STUDIES.values()
        for measured in findings.rows(study)
    ]
    write_json(directory / "report.json", _json(findings, "claims", rows, findings.claims))
    return page


def _json(findings: Findings, name: str, rows: list[dict[str, Any]], chosen: list[Claim]) -> dict[str, Any]:
    return {
        "study": name,
        "scale": findings.place.scale.name,
        "command": findings.command,
        "seeds": dict(findings.seeds),
        "rows": rows,
        "claims": [claim.json() for claim in chosen],
        "lengths": findings.evidence.lengths if name == "claims" else None,
        "about": findings.place.scale.about,
        "tuning": findings.place.scale.tuning,
        "trained_with": [{"versions": of, "machine": machine} for of, machine in _origins(findings, ALL_ROWS)],
        "step_times": findings.place.kept(SPEEDS),
        "reported_with": versions(),
    }


def _lead(findings: Findings, rows: Sequence[Row]) -> tuple[str, ...]:
    scale, seeds = findings.place.scale, findings.seeds
    there = [findings.evidence.rows[row.name] for row in rows if row.name in findings.evidence.rows]
    counts = {m.row.name: len(m.accuracies) + len(m.diverged) for m in there}
    missing = [
        f"{row.name} ({counts.get(row.name, 0)})"
        for row in rows
        if counts.get(row.name, 0) < seeds.get(row.look, 0) and row.name not in scale.left_out and scale.has(row)
    ]
    diverged = [f"{m.row.name} (seed {', '.join(map(str, m.diverged))})" for m in there if m.diverged]
    numbers = sorted({seed for m in there for seed in m.accuracies})
    again = "mttt study claims" + ("" if scale.name == "small" else f" --scale {scale.name}")
    origins = [
        f"mttt {of['mttt']}, jax {of['jax']}, Python {of['python']}" + (f", {machine}" if machine else "")
        for of, machine in _origins(findings, rows)
    ]
    lead = [
        f"Scale **{scale.name}**: {scale.about}. Seeds {', '.join(map(str, numbers)) or 'none'}. Written by "
        f"`{findings.command}`; one row again, elsewhere: `{again} --only ROW --seeds N --out DIR`.",
        *([f"Trained with {'; '.join(origins)}."] if origins else []),
        scale.tuning,
    ]
    if missing:
        wanted = ", ".join(f"{many} from {look}" for look, many in seeds.items())
        lead.append(f"**Not complete**: rows with fewer seeds than are wanted ({wanted}) so far: {', '.join(missing)}.")
    if diverged:
        lead.append(
            f"**Diverged**, their loss became infinite: {'; '.join(diverged)}. Rows are compared over the seeds in "
            "which neither of them did."
        )
    if not plots.can_draw():
        lead.append("No pictures: matplotlib is not installed (`pip install matplotlib`).")
    return tuple(lead)


def _origins(findings: Findings, rows: Sequence[Row]) -> list[tuple[dict[str, str], str | None]]:
    """The versions and machines of the runs; more than one of each if they are from several."""
    measured = [findings.evidence.rows[row.name] for row in rows if row.name in findings.evidence.rows]
    found = []
    for origin in (origin for m in measured for origin in m.origins):
        if origin not in found:
            found.append(origin)
    return found


def _spread(measured: Measured) -> str:
    if measured.mean is None:
        return "diverged"
    spread = f"{measured.mean:.2f}" + (f" ± {measured.std:.2f}" if measured.std is not None else "")
    return f"{spread} ({len(measured.diverged)} diverged)" if measured.diverged else spread


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}×"


def _table(findings: Findings, study: Study) -> Table:
    base, there = findings.base(study), [m.row for m in findings.rows(study)]
    kinds = {"tokens": lambda row: row.look, "ViT": lambda row: row.size.title()}
    kinds = {head: kind for head, kind in kinds.items() if len({kind(row) for row in there}) > 1}
    papers = {row.name: printed(row) for row in there}
    costs = study.name in ("table1", "table3")  # the figures and table 2 print none
    rows = []
    for m in findings.rows(study):
        accuracy, paper = study.paper.get(m.row.name), papers[m.row.name]
        rows.append(
            (
                *(kind(m.row) for kind in kinds.values()),
                m.row.label,
                _spread(m),
                str(len(m.accuracies)),
                f"{m.parameters / 1e3:,.0f}",
                _times(relative_flops(m, base)),
                _times(relative_time(m, base)),
                "–" if accuracy is None else f"{accuracy:.1f}",
                *(("–", "–") if paper is None else (f"{paper.parameters:.1f}", f"{paper.flops:.1f}×"))[: 2 * costs],
            )
        )
    head = ("layer", "accuracy, %", "seeds", "thousand parameters", "FLOPs", "step time", "paper: %")
    if costs:
        head += ("paper: million parameters", "paper: FLOPs")
    return Table((*kinds, *head), tuple(rows), words=tuple(range(len(kinds) + 1)))


def _notes(study: Study) -> list[str]:
    base = next(row for row in study.rows if row.name == study.base)
    return [
        "Accuracy on all test images, mean ± standard deviation over seeds. FLOPs of a forward pass and time of a "
        f"training step relative to {base.label}{f', {base.size.title()}' if base.look == 'pixels' else ''} (the best "
        "of several that all rows took in turn, on a batch of noise; a tenth or more of it is chance). Parameters "
        "include those that are not trained. The paper's numbers are those of its ImageNet models: an ordering can "
        "be compared with them, a number cannot."
    ] + ([study.notes] if study.notes else [])
