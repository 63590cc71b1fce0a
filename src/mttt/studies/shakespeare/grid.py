"""Rows × seeds: runs like any other, and each trained model by position, within and beyond its context.

DIR/runs/ROW/seed-K/    a run, as `mttt train` makes them; positions.json when it was evaluated
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax

from mttt.data import DataSet, describe
from mttt.fields import differences
from mttt.files import write_json
from mttt.mixers import frozen, has_inner_loop
from mttt.outer import Evaluation
from mttt.recipes import PRESETS, Recipe, encode, recipe_of
from mttt.runs import InUse, Record, Run, RunError
from mttt.studies.shakespeare.rows import ROWS, TextRow
from mttt.studies.watch import Watcher
from mttt.training import Loaded, check_data, in_context, launch, load, prepare

LONGER = 4
"""times as long as in training are the windows that a model is evaluated in, too"""
LEARNS, FROZEN = "as trained", "W₀ frozen"


class TextJob(NamedTuple):
    """One training of the grid."""

    row: TextRow
    seed: int

    def __str__(self) -> str:
        return f"{self.row.name}, seed {self.seed}"


def text_jobs(rows: Sequence[TextRow], seeds: int) -> list[TextJob]:
    """Every row with seed 0 first: what is there first is balanced."""
    return [TextJob(row, seed) for seed in range(seeds) for row in rows]


@dataclass(frozen=True)
class TextPlace:
    """Where the runs are, and what all of them share."""

    directory: Path
    base: Recipe = field(default_factory=lambda: PRESETS["shakespeare"].recipe)

    def path(self, job: TextJob) -> Path:
        """Of the run of a job."""
        return self.directory / "runs" / job.row.name / f"seed-{job.seed}"

    def open(self, job: TextJob, data: DataSet) -> Run:
        """The run of a job, begun or new. One of another recipe is refused."""
        path, recipe = self.path(job), job.row.recipe(self.base, job.seed)
        if not path.exists():
            try:
                return Run.create(path, encode(recipe), describe(data))
            except RunError:  # another process was faster
                if not path.exists():
                    raise
        run = Run.open(path)
        if changed := differences(encode(recipe_of(run)), encode(recipe)):
            raise RunError(
                f"{path} is a run of another recipe, and is not overwritten:\n  "
                + "\n  ".join(map(str, changed))
                + "\nChoose another directory, or move that one away"
            )
        check_data(run, data)
        return run

    def found(self, job: TextJob) -> Record | None:
        """What a finished job found."""
        path = self.path(job) / "positions.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def everything(self) -> list[Record]:
        """All that was found, by row and seed."""
        records = []
        for row in ROWS:
            names = [path.name for path in (self.directory / "runs" / row.name).glob("seed-*")]
            for seed in sorted(int(name[5:]) for name in names if name[5:].isdecimal()):
                if (record := self.found(TextJob(row, seed))) is not None:
                    records.append(record)
        return records


def work_text(place: TextPlace, jobs: Sequence[TextJob], watcher: Watcher) -> list[TextJob]:
    """Do what is not done. The jobs that another process is working on are left to it, and returned."""
    left, others = [job for job in jobs if place.found(job) is None], []
    data = place.base.data.load() if left else None
    watcher.begin(dict.fromkeys(left, 1.0), float(len(jobs)))
    for job in left:
        assert data is not None
        run, prepared = place.open(job, data), prepare(job.row.recipe(place.base, job.seed), data)
        observer = watcher.job(job, prepared.plan.steps, data.evaluation_name)
        try:
            with run.locked():
                record = place.found(job)  # another process may have been at it since
                if record is None:
                    if run.result is None:
                        launch(prepared, data, run, observer)
                    record = _positions(load(run.path), data, job)
                    write_json(run.path / "positions.json", record)
        except InUse:
            watcher.left_to_others(job)
            others.append(job)
        else:
            watcher.finished(job, record["accuracy"])
        jax.clear_caches()
    return others


def _positions(loaded: Loaded, data: DataSet, job: TextJob) -> Record:
    """The loss by position, in windows as long as in training and in longer ones, with W learning and frozen."""
    context = loaded.spec.inputs.shape[0] - 1
    contexts = [context] if loaded.model.most is not None else [context, LONGER * context]
    evaluations = {each: _evaluations(loaded, data, each) for each in contexts}
    own = evaluations[context][LEARNS]
    return {
        "row": job.row.name,
        "seed": job.seed,
        "context": context,
        "accuracy": own.accuracy,
        "loss": own.loss,
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(loaded.model)),
        "contexts": {
            str(each): {name: _record(found) for name, found in ways.items()} for each, ways in evaluations.items()
        },
    }


def _evaluations(loaded: Loaded, data: DataSet, context: int) -> dict[str, Evaluation]:
    view, there = in_context(loaded, data.evaluation, context)
    judge = lambda model: there.prepared.evaluate(model, there.prepared.batches_of(view))  # noqa: E731
    ways = {LEARNS: judge(loaded.model)}
    return ways | ({FROZEN: judge(frozen(loaded.model))} if has_inner_loop(loaded.model) else {})


def _record(found: Evaluation) -> dict[str, Any]:
    assert found.by_position is not None
    places = [round(float(loss), 6) for loss in found.by_position]
    return {"loss": found.loss, "bits_per_byte": found.bits, "by_position": places}
