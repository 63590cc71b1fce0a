"""mttt study recall"""

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
from mttt.studies.recall import PAIRS, ROWS, STEPS, RecallPlace, recall_jobs, work_recall, write_recall

ABOUT = "Multi-query associative recall: which causal mixer remembers how many pairs, with a state of which size."


@dataclass(frozen=True)
class RecallArguments:
    """What the study of recall takes.

    Examples:
        {prog}                       # everything
        {prog} --pairs 16 --seeds 1  # its smallest part
    """

    pairs: tuple[int, ...] = PAIRS
    """numbers of pairs to remember, each 1 to 256; sequences have four times as many tokens"""
    seeds: int = 3
    """how many: 0, 1, …"""
    only: tuple[str, ...] = ()
    """only these rows (of several machines, each can take some: the directories merge by copying)"""
    steps: int = STEPS
    """of each training"""
    out: Path = Path("studies/recall")
    """directory of numbers and report"""
    report: bool = False
    """train nothing; write the report of the numbers that are there"""


def study_recall(arguments: RecallArguments, command: str, console: Console) -> int:
    """Run the command; the exit code."""
    with refusing():
        positive(2**24, seeds=arguments.seeds, steps=arguments.steps)
        for pairs in arguments.pairs:
            positive(2**8, pairs=pairs)
    place, known = RecallPlace(arguments.out, arguments.steps), {row.name: row for row in ROWS}
    for word in arguments.only:
        if word not in known:
            raise unknown("row", word, list(known))
    rows = [row for row in ROWS if not arguments.only or row.name in arguments.only]
    place.everything()  # what cannot be reported should show now, not after hours
    if not arguments.report:
        try:
            with watch(console) as watcher:
                work_recall(place, recall_jobs(rows, arguments.pairs, arguments.seeds), watcher)
        except Interrupted as stopped:
            say(console, "\nStopped. What was trained is kept, and the same command continues.")
            return 128 + stopped.signal_number
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
