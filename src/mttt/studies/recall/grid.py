"""Rows × pairs × seeds, one after the other. What is there is not trained again.

    DIR/runs/ROW/pairs-P-seed-K.json    the numbers of a training, written when it is done
    DIR/runs/.locks/                    who is at work on what

Directories of several machines merge by copying.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import jax

from mttt.files import write_json
from mttt.outer import Interrupt, Interrupted, self_check
from mttt.runs import InUse, Record, RunError, alone
from mttt.studies.recall.rows import Recaller
from mttt.studies.recall.study import RecallStudy
from mttt.studies.recall.training import RecallJob, settings, train_recall
from mttt.studies.watch import Watcher
from mttt.training import Observer


def recall_jobs(rows: Sequence[Recaller], pairs: Sequence[int], seeds: int) -> list[RecallJob]:
    """Every row and number of pairs with seed 0 first: what is there first is balanced."""
    jobs = [RecallJob(row, each, seed) for seed in range(seeds) for each in pairs for row in rows]
    return [job for job in jobs if job.row.pairs is None or job.pairs in job.row.pairs]


@dataclass(frozen=True)
class RecallPlace:
    """Where the numbers are, and how long a training is."""

    study: RecallStudy
    directory: Path
    steps: int

    def path(self, job: RecallJob) -> Path:
        """Of the numbers of a job."""
        return self.directory / "runs" / job.row.name / f"pairs-{job.pairs}-seed-{job.seed}.json"

    def found(self, job: RecallJob) -> Record | None:
        """The numbers of a job, if they are there. Those of another training are refused."""
        path = self.path(job)
        if not path.is_file():
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
        for name, value in settings(job, self.steps).items():
            if record.get(name) != value:
                raise RunError(
                    f"{path} is of {name} {record.get(name)}, and {value} is asked for; choose another directory, or "
                    "move that one away"
                )
        return record

    def holding(self, job: RecallJob) -> AbstractContextManager[None]:
        """Only one process trains a job; `InUse`, if another does."""
        locks = self.directory / "runs" / ".locks"
        locks.mkdir(parents=True, exist_ok=True)
        return alone(locks / f"{job.row.name}-{self.path(job).stem}")

    def everything(self) -> list[Record]:
        """All numbers that are there: by row, pairs and seed."""
        records = []
        for row in self.study.rows:
            for path in (self.directory / "runs" / row.name).glob("pairs-*-seed-*.json"):
                record = json.loads(path.read_text(encoding="utf-8"))
                job = RecallJob(row, record["pairs"], record["seed"])
                records.append((record["pairs"], record["seed"], self.found(job)))
        return [record for _, _, record in sorted(records, key=lambda found: found[:2])]


class _Watched:
    """Passes what a training tells on, and stops it if that is asked for."""

    def __init__(self, observer: Observer, interrupt: Interrupt):
        self.observer, self.interrupt = observer, interrupt

    def __call__(self, record: Record) -> None:
        self.observer.at(record["step"])
        self.observer.record(record)
        if (number := self.interrupt.requested) is not None:
            raise Interrupted(record["step"], number)


def work_recall(place: RecallPlace, jobs: Sequence[RecallJob], watcher: Watcher) -> list[RecallJob]:
    """Do what is not done. A training that is stopped begins anew: it is a minute or so.

    The jobs that another process is working on are left to it, and returned.
    """
    left, others = [job for job in jobs if place.found(job) is None], []
    watcher.begin({job: float(job.pairs) for job in left}, float(sum(job.pairs for job in jobs)))
    if left:
        self_check()
    with Interrupt() as interrupt:
        for job in left:
            observer = watcher.job(job, place.steps, "recalled")
            observer.at(0)
            try:
                with place.holding(job):
                    # Another process may have been at it since.
                    record = place.found(job) or _train(place, job, _Watched(observer, interrupt))
            except InUse:
                watcher.left_to_others(job)
                others.append(job)
            else:
                watcher.finished(job, record["accuracy"])
            jax.clear_caches()
    return others


def _train(place: RecallPlace, job: RecallJob, see: Callable[[Record], None]) -> Record:
    record = train_recall(job, place.steps, see)
    path = place.path(job)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, record)
    return record
