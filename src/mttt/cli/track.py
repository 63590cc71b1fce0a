"""mttt track"""

import time
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from mttt.cli.arguments import UsageError
from mttt.cli.parsing import parsed
from mttt.cli.say import count, one_line, say
from mttt.cli.tracking import TrackerName, check_trackers, tracked
from mttt.cli.waiting import waiting
from mttt.runs import Run, in_use
from mttt.tracking import Feed

_PAUSE, _PATIENCE = 1.0, 10.0  # seconds


@dataclass(frozen=True)
class Arguments:
    """Show the numbers of runs in a tracker; of a run that is being trained, as they come, until it ends.

    Examples:
        mttt track runs/digits --to tensorboard
        mttt track runs/digits runs/digits-seed1 --to tensorboard --dir board/
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """directories of the runs"""
    to: TrackerName
    """where to show them; wandb and trackio also follow their own variables, such as WANDB_MODE"""
    dir: Path | None = None
    """where to put files: a folder for each run (tensorboard; by default RUN/tensorboard), or of all (the others)"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code: 1 if a run did not arrive."""
    arguments = parsed(Arguments, words, prog="mttt track")
    if not arguments.runs:
        raise UsageError("no run was given: mttt track RUN … --to tensorboard")
    check_trackers((arguments.to,), "--to")
    with waiting("reading the runs"):
        runs = [Run.open(path) for path in {path.resolve(): path for path in arguments.runs}.values()]
        lines = {run.path: len(run.metrics.read()) for run in runs}
    feeds: dict[Path, tuple[Run, Feed]] = {}
    try:
        for run in sorted(runs, key=in_use, reverse=True):  # they are followed while the others are read
            if not lines[run.path] and not in_use(run):
                say(console, f"{_name(run)} has no numbers yet.")
                continue
            feeds[run.path] = (run, _feed(run, arguments, console))
            if not in_use(run):
                _finish(*feeds[run.path])
        _follow([one for one in feeds.values() if not one[1].wait(0.0)])
    finally:
        _end([feed for _, feed in feeds.values()])
    return 0 if all(feed.ok for _, feed in feeds.values()) else 1


def _end(feeds: list[Feed]) -> None:
    """Ctrl-C stops following: what was read is sent, if that takes a few seconds."""
    for feed in feeds:
        feed.over()
    end = time.monotonic() + _PATIENCE
    for feed in feeds:
        feed.wait(max(0.0, end - time.monotonic()))
        feed.kill()


def _feed(run: Run, arguments: Arguments, console: Console) -> Feed:
    name = _name(run)
    return Feed(
        arguments.to,
        tracked(run, arguments.dir),
        where=lambda place: say(console, f"{name}: {arguments.to}, {one_line(place)}"),
        failed=lambda why: say(console, f"{name}: {arguments.to} did not take it: {one_line(why)}"),
    )


def _follow(left: list[tuple[Run, Feed]]) -> None:
    """Until none of them is being trained any more."""
    if not left:
        return
    with waiting(f"following {count(len(left), 'training')}; Ctrl-C stops that"):
        while left:
            for run, feed in [one for one in left if not in_use(one[0])]:
                _finish(run, feed)
            left = [one for one in left if not one[1].wait(0.0)]
            time.sleep(_PAUSE if left else 0)


def _finish(run: Run, feed: Feed) -> None:
    feed.over()
    with waiting(f"sending {_name(run)}"):
        feed.wait()


def _name(run: Run) -> str:
    return one_line(str(run.path))
