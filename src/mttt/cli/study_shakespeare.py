"""mttt study shakespeare"""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from mttt.cli.arguments import UsageError, refusing, unknown
from mttt.cli.grid import watch
from mttt.cli.say import say
from mttt.cli.study_recall import show_claims
from mttt.cli.waiting import waiting
from mttt.outer import Interrupted
from mttt.recipes.check import positive
from mttt.studies.shakespeare import ROWS, TextPlace, text_jobs, work_text, write_text

ABOUT = "A language model with each causal mixer, by nanoGPT's recipe: loss, and loss by position beyond the context."


@dataclass(frozen=True)
class ShakespeareArguments:
    """What the study of language models takes.

    Examples:
        {prog} --seeds 1  # every row once
        {prog} --report   # the report of what is trained
    """

    seeds: int = 3
    """how many: 0, 1, …"""
    only: tuple[str, ...] = ()
    """only these rows (of several machines, each can take some: the directories merge by copying)"""
    out: Path = Path("studies/shakespeare")
    """directory of runs and report"""
    speeds: Path = Path("results/speed/sequences.json")
    """what mttt bench sequences --json wrote, for the verdict on undoing"""
    jobs: int = 1
    """processes to train in, each on processors of its own"""
    train_only: bool = False
    """write no report, because another process or machine does"""
    report: bool = False
    """train nothing; write the report of the runs that are there"""


def study_shakespeare(arguments: ShakespeareArguments, command: str, console: Console) -> int:
    """Run the command; the exit code."""
    with refusing():
        positive(2**24, seeds=arguments.seeds)
    place, known = TextPlace(arguments.out), {row.name: row for row in ROWS}
    for word in arguments.only:
        if word not in known:
            raise unknown("row", word, list(known))
    rows = [row for row in ROWS if not arguments.only or row.name in arguments.only]
    if not arguments.report:
        try:
            with watch(console) as watcher:
                left = work_text(place, text_jobs(rows, arguments.seeds), watcher)
        except Interrupted as stopped:
            say(console, "\nStopped and saved. The same command continues.")
            return 128 + stopped.signal_number
        if left and not arguments.train_only:
            say(console, "Some runs are being trained by another process; the same command continues when it is done.")
        if arguments.train_only:
            return 0
    with waiting("writing the report"):
        written = write_text(place, command, arguments.speeds)
    if written is None:
        raise UsageError(f"{place.directory} has no finished run yet; without --report they are trained")
    page, record = written
    say(console, f"Report: {page}")
    show_claims(record, console)
    return 0
