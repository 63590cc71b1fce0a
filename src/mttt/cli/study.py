"""mttt study"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from mttt.cli.arguments import UsageError, check_file, check_workers, refusing, unknown
from mttt.cli.costs import show_costs
from mttt.cli.described import described
from mttt.cli.grid import watch
from mttt.cli.jobs import check_jobs, divide
from mttt.cli.say import count
from mttt.cli.study_recall import ABOUT as RECALL, IN_A_SET, RecallArguments, SetRecallArguments, study_recall
from mttt.cli.study_shakespeare import ABOUT as SHAKESPEARE, ShakespeareArguments, study_shakespeare
from mttt.cli.subcommands import take_subcommand
from mttt.cli.waiting import waiting, waiting_for
from mttt.files import write_json
from mttt.outer import Interrupted
from mttt.recipes.check import positive
from mttt.studies import (
    ALL_ROWS,
    LENGTHS,
    SCALES,
    SPEEDS,
    STUDIES,
    Findings,
    Grid,
    Place,
    Row,
    find,
    jobs_of,
    known_speeds,
    measure_lengths,
    measure_speeds,
    runs_of,
    write_claims,
    write_report,
)
from mttt.studies.scale import Scale, Seeds
from mttt.studies.trial import try_rows

ABOUT = (
    "The paper's tables and figures, with its numbers beside ours. Every row is trained with every seed, then the "
    "report is written. What is done is not done again; Ctrl-C saves."
)


@dataclass(frozen=True)
class Costs:
    """Count parameters and FLOPs of every row of the paper's tables 1 and 3. Nothing is trained or run.

    Examples:
        mttt study costs --json costs.json
    """

    json: Path | None = None
    """write all numbers to this file"""


@dataclass(frozen=True)
class Arguments:
    """What a study takes that trains.

    Examples:
        {prog} --seeds 1           # every row once
        {prog} --trial             # is everything there?
        {prog} --seeds 1 --report  # the report of what is trained
    """

    scale: Literal["small", "decisive", "paper"] = "small"
    """small: Fashion-MNIST; decisive: the plan by which claims are decided; paper: ImageNet, the exact recipe"""
    seeds: int | None = None
    """how many: 0, 1, … (default: 3, and those of the plan at the scale decisive)"""
    only: tuple[str, ...] = ()
    """only these rows (of several machines, each can take some: the directories merge by copying)"""
    out: Path | None = None
    """directory of runs and reports (default: studies/SCALE)"""
    data: str | None = None
    """where the images are, if they are not found: IDX files for small, a folder of ImageNet for paper"""
    workers: int | None = None
    """processes that prepare images (default: as for mttt train)"""
    jobs: int = 1
    """processes to train in, each on processors of its own"""
    train_only: bool = False
    """measure no times and write no report, because another process or machine does"""
    report: bool = False
    """train nothing; write the report of the runs that are there"""
    trial: bool = False
    """two steps of every row on two images of noise instead: is everything there?"""


KINDS: dict[str, tuple[type, str]] = {
    "costs": (Costs, described(Costs).about),
    **{name: (Arguments, study.about) for name, study in STUDIES.items()},
    "claims": (Arguments, "All of the above but costs, and a verdict for each of the paper's claims."),
    "recall": (RecallArguments, RECALL),
    "set-recall": (SetRecallArguments, IN_A_SET),
    "shakespeare": (ShakespeareArguments, SHAKESPEARE),
}


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    name, arguments = take_subcommand("study", ABOUT, KINDS, words)
    if isinstance(arguments, Costs):
        return _costs(arguments, console)
    command = shlex.join(["mttt", "study", *words])
    check_jobs(arguments.jobs)
    trains = not arguments.report and not getattr(arguments, "trial", False)
    if arguments.jobs > 1 and trains and (code := divide(_without_jobs(words), arguments.jobs, console)):
        return code
    if isinstance(arguments, RecallArguments | SetRecallArguments):
        return study_recall(arguments, command, console)
    if isinstance(arguments, ShakespeareArguments):
        return study_shakespeare(arguments, command, console)
    return _grid(name, arguments, command, console)


def _without_jobs(words: list[str]) -> list[str]:
    """What one of the processes is asked to do."""
    kept = [word for word in words if not word.startswith("--jobs=")]
    if "--jobs" in kept:
        at = kept.index("--jobs")
        del kept[at : at + 2]
    return kept


def _costs(arguments: Costs, console: Console) -> int:
    if arguments.json is not None:
        check_file(arguments.json)
    numbers = show_costs(console)
    if arguments.json is not None:
        write_json(arguments.json, numbers)
        _say(console, f"Numbers: {arguments.json}")
    return 0


def _grid(name: str, arguments: Arguments, command: str, console: Console) -> int:
    with refusing():
        positive(seeds=arguments.seeds)
        check_workers(arguments.workers)
    scale = SCALES[arguments.scale]
    seeds = scale.seeds if arguments.seeds is None else dict.fromkeys(scale.looks, arguments.seeds)
    rows = _rows(name, arguments.only, scale, console)
    if arguments.trial:
        _say(console, f"Two steps of each row on two images of noise, {scale.name} scale: {scale.about}.")
        for row, (first, second), seconds in waiting_for(try_rows(scale, rows), "compiling the next row"):
            _say(console, f"  {row.name:36} loss {first:.4f}, then {second:.4f}  {seconds:.0f} s with compiling")
        return 0
    directory = arguments.out or Path("studies") / arguments.scale
    place = Place(scale, directory, arguments.data)
    with waiting("reading the runs that are there"):
        runs_of(place, ALL_ROWS)  # what cannot be reported should show now, not after hours
    left = False
    if not arguments.report:
        with refusing({"data.path": "--data"}), waiting("reading the data, checking every row"):
            grid = Grid(place, jobs_of(rows, seeds))
        try:
            with watch(console) as watcher:
                left = bool(grid.work(watcher, workers=arguments.workers))
                if arguments.train_only:
                    return 0
                _write(place, name, seeds, command)  # measuring may fail, and takes a while
                if not (left or arguments.only):
                    _measure(place, rows, lengths=name == "claims", say=watcher.say)
        except Interrupted as stopped:
            _say(console, "\nStopped and saved. The same command continues.")
            return 128 + stopped.signal_number
    with waiting("writing the report"):
        findings, pages = _write(place, name, seeds, command)
    if not pages:
        raise UsageError(f"{directory} has no finished run yet; without --report they are trained")
    for page in pages:
        _say(console, f"Report: {page}")
    for claim in findings.claims if name == "claims" else ():
        _say(console, f"  {claim.number:2}. {claim.text}: {claim.verdict}")
    if left:
        _say(console, "Some runs are being trained by another process; the same command continues when it is done.")
    return 0


def _write(place: Place, name: str, seeds: Seeds, command: str) -> tuple[Findings, list[Path]]:
    """The reports of a study, or of all of them, from the runs that are there."""
    findings = find(place, seeds, command)
    studies = [study for study in STUDIES.values() if name in ("claims", study.name) and findings.rows(study)]
    pages = [write_report(findings, study, place.directory / study.name) for study in studies]
    if name == "claims" and pages:
        pages.append(write_claims(findings, place.directory / "claims"))
    return findings, pages


def _measure(place: Place, rows: tuple[Row, ...], *, lengths: bool, say: Callable[[str], None]) -> None:
    """Times, once for all: side by side, after the trainings of this process."""
    wanted, known = {row.name for row in rows}, set(known_speeds(place))
    if not wanted <= known:
        wanted |= known
        say(f"measuring a training step of {count(len(wanted), 'row')}")
        place.keep(SPEEDS, measure_speeds(place.scale, [row for row in ALL_ROWS if row.name in wanted], say=say))
    if lengths and place.kept(LENGTHS) is None:
        say("measuring time and memory against n (claim 10)")
        place.keep(LENGTHS, measure_lengths(say=say))


def _rows(name: str, only: tuple[str, ...], scale: Scale, console: Console) -> tuple[Row, ...]:
    rows = ALL_ROWS if name == "claims" else STUDIES[name].rows
    known = {row.name: row for row in rows}
    for word in only:
        if word not in known:
            raise unknown("row", word, list(known))
    chosen = [row for row in rows if not only or row.name in only]
    for row in chosen:
        if row.name in scale.left_out:
            _say(console, f"Left out: {row.name}; {scale.why_left_out}.")
    rows = tuple(row for row in chosen if row.name not in scale.left_out and scale.has(row))
    if not rows:
        raise UsageError("no row is left to train; choose others with --only, or leave it out")
    return rows


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
