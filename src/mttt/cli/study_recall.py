"""mttt study recall, mttt study set-recall"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from mttt.cli.arguments import UsageError, refusing, unknown
from mttt.cli.grid import watch
from mttt.cli.say import say
from mttt.cli.waiting import waiting
from mttt.outer import Interrupted
from mttt.recipes.check import positive
from mttt.studies.recall import (
    IN_SEQUENCES,
    IN_SETS,
    RecallPlace,
    RecallStudy,
    recall_jobs,
    work_recall,
    write_recall,
)

ABOUT = "Multi-query associative recall: which causal mixer remembers how many pairs, with a state of which size."
IN_A_SET = "Associative recall in a set: which mixer remembers how many pairs, and which parts of a TTT layer help."


@dataclass(frozen=True)
class _Arguments:
    """What both studies of recall take."""

    pairs: tuple[int, ...] = ()
    """numbers of pairs to remember, each 1 to 256 (default: those of the study)"""
    seeds: int = 3
    """how many: 0, 1, …"""
    only: tuple[str, ...] = ()
    """only these rows (of several machines, each can take some: the directories merge by copying)"""
    steps: int | None = None
    """of each training (default: those of the study)"""
    out: Path | None = None
    """directory of numbers and report (default: studies/ and the study's name)"""
    jobs: int = 1
    """processes to train in, each on processors of its own"""
    train_only: bool = False
    """write no report, because another process or machine does"""
    report: bool = False
    """train nothing; write the report of the numbers that are there"""


@dataclass(frozen=True)
class RecallArguments(_Arguments):
    """What the study of recall in sequences takes.

    Examples:
        {prog}                       # everything
        {prog} --pairs 16 --seeds 1  # its smallest part
    """


@dataclass(frozen=True)
class SetRecallArguments(_Arguments):
    """What the study of recall in sets takes.

    Examples:
        {prog}                               # everything
        {prog} --only self-attention mttt-mlp --seeds 1
    """


def study_recall(arguments: RecallArguments | SetRecallArguments, command: str, console: Console) -> int:
    """Run the command; the exit code."""
    study: RecallStudy = IN_SETS if isinstance(arguments, SetRecallArguments) else IN_SEQUENCES
    steps = study.steps if arguments.steps is None else arguments.steps
    pairs = arguments.pairs or study.pairs
    with refusing():
        positive(2**24, seeds=arguments.seeds, steps=steps)
        for each in pairs:
            positive(2**8, pairs=each)
    place = RecallPlace(study, arguments.out or Path("studies") / study.name, steps)
    known = {row.name: row for row in study.rows}
    for word in arguments.only:
        if word not in known:
            raise unknown("row", word, list(known))
    rows = [row for row in study.rows if not arguments.only or row.name in arguments.only]
    jobs = recall_jobs(rows, pairs, arguments.seeds)
    if not jobs:
        own = ", ".join(f"{row.name} with {' and '.join(map(str, row.pairs or ()))}" for row in rows)
        raise UsageError(f"nothing is left to train: these rows have pairs of their own ({own})")
    place.everything()  # what cannot be reported should show now, not after hours
    if not arguments.report:
        try:
            with watch(console) as watcher:
                left = work_recall(place, jobs, watcher)
        except Interrupted as stopped:
            say(console, "\nStopped. What was trained is kept, and the same command continues.")
            return 128 + stopped.signal_number
        if left and not arguments.train_only:
            say(console, "Some are being trained by another process; the same command continues when it is done.")
        if arguments.train_only:
            return 0
    with waiting("writing the report"):
        written = write_recall(place, command)
    if written is None:
        raise UsageError(f"{place.directory} has no numbers yet; without --report they are made")
    page, record = written
    say(console, f"Report: {page}")
    show_claims(record, console)
    return 0


def show_claims(record: dict[str, Any], console: Console) -> None:
    """A line for each verdict."""
    for claim in record["claims"]:
        say(console, f"  {claim['number']:2}. {claim['claim']}: {claim['verdict']}")
