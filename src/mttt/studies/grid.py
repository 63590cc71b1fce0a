"""Rows times seeds: trained one after the other, resumed after a kill, skipped if they are there.

    DIR/runs/ROW/seed-K/    a run, as `mttt train` makes them; other-steps.json if the row asks for it

Directories of several machines merge by copying: a run is where its row and seed say. Nothing else is kept.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from mttt.data import DataSet, describe, evaluation_batches
from mttt.mixers import with_inner_loop
from mttt.outer import Observer, evaluate
from mttt.recipes import Recipe, check_data, differences, encode, launch, load
from mttt.runs import Record, Run, RunError, write_json
from mttt.studies.formulas import vit
from mttt.studies.row import Row
from mttt.studies.scale import Scale


class Job(NamedTuple):
    """One run of the grid."""

    row: Row
    seed: int

    def __str__(self) -> str:
        return f"{self.row.name}, seed {self.seed}"


@runtime_checkable
class Watcher(Protocol):
    """Sees a grid as it is worked through. Weights are FLOPs: what is left takes as long as its weight says."""

    def begin(self, jobs: Sequence[Job], done: float, total: float) -> None: ...

    def job(self, job: Job, number: int, steps: int, weight: float, evaluation_name: str) -> Observer: ...

    def finished(self, job: Job, accuracy: float) -> None: ...

    def say(self, words: str) -> None: ...


@dataclass(frozen=True)
class Place:
    """Where the runs of a scale are, and where its images are."""

    scale: Scale
    directory: Path
    data: str | None = None

    def path(self, job: Job) -> Path:
        """Of the run of a job."""
        return self.directory / "runs" / job.row.name / f"seed-{job.seed}"

    def recipe(self, job: Job) -> Recipe:
        """Of the run of a job."""
        return self.scale.recipe(job.row, seed=job.seed, path=self.data)

    def run(self, job: Job) -> Run | None:
        """The run of a job, if it is finished."""
        path = self.path(job)
        run = Run(path) if (path / "recipe.json").is_file() else None
        return run if run is not None and run.result is not None else None

    def done(self, job: Job) -> bool:
        """Is there nothing left to do?"""
        run = self.run(job)
        return run is not None and (not job.row.probe or _probes(run).is_file())

    def probes(self, job: Job) -> dict[int, Record] | None:
        """The trained model with other numbers of inner steps, if it was asked for and is there."""
        run = self.run(job)
        if run is None or not _probes(run).is_file():
            return None
        return {int(steps): record for steps, record in json.loads(_probes(run).read_text(encoding="utf-8")).items()}


def jobs_of(rows: Sequence[Row], seeds: int) -> list[Job]:
    """Every row with seed 0, then every row with seed 1, …: what is there first is balanced."""
    unique = {row.name: row for row in rows}
    return [Job(row, seed) for seed in range(seeds) for row in unique.values()]


def run_grid(place: Place, jobs: Sequence[Job], watcher: Watcher) -> list[Job]:
    """Do what is not done. The jobs that another process is working on are left to it, and returned."""
    images: dict[object, DataSet] = {}

    def data_of(recipe: Recipe) -> DataSet:
        if recipe.data not in images:
            images[recipe.data] = recipe.data.load()
        return images[recipe.data]

    left = [job for job in jobs if not place.done(job)]
    for job in left:  # all mistakes at once, before hours of work
        recipe = place.recipe(job)
        recipe.plan(data_of(recipe))
        _open(place.path(job), recipe, data_of(recipe))
    weights = {job: weight(place.recipe(job), place.scale, job, data_of(place.recipe(job))) for job in jobs}
    total = sum(weights.values())
    watcher.begin(left, total - sum(weights[job] for job in left), total)
    elsewhere = []
    for number, job in enumerate(left, 1):
        recipe = place.recipe(job)
        data = data_of(recipe)
        run = _open(place.path(job), recipe, data) or Run.create(place.path(job), encode(recipe), describe(data))
        steps = recipe.plan(data).steps
        observer = watcher.job(job, len(jobs) - len(left) + number, steps, weights[job], data.evaluation_name)
        try:
            with run.locked():
                if run.result is None:
                    launch(recipe, data, run, observer)
                if job.row.probe:
                    _probe(run, job.row.probe, watcher.say)
        except RunError as error:
            watcher.say(str(error))
            elsewhere.append(job)
            continue
        assert run.result is not None
        watcher.finished(job, run.result["accuracy"])
        jax.clear_caches()  # every program maps memory, and a process may have only so many maps
    return elsewhere


def weight(recipe: Recipe, scale: Scale, job: Job, data: DataSet) -> float:
    """FLOPs of a training: a step is three forward passes."""
    plan = recipe.plan(data)
    evaluations = -(-plan.steps // plan.evaluate_every)
    forwards = 3 * plan.steps * plan.batch_size + evaluations * len(data.evaluation)
    return float(forwards) * forward_flops(scale, job.row, data)


def forward_flops(scale: Scale, row: Row, data: DataSet) -> int:
    """FLOPs of a forward pass of one image, by formulas."""
    height, width, channels = data.image_shape
    patch = scale.looks[row.look].model.patch
    tokens = (height // patch) * (width // patch)
    return vit(row.mixer, scale.size(row), tokens, channels * patch**2, len(data.classes))


def _open(path: Path, recipe: Recipe, data: DataSet) -> Run | None:
    """The run at a path, if there is one; one of another recipe is refused."""
    if not path.exists():
        return None
    run = Run.open(path)
    if changed := differences(run.recipe, encode(recipe)):
        raise RunError(
            f"{path} is a run of another recipe, and is not overwritten:\n  " + "\n  ".join(changed) + "\n"
            "Choose another directory with --out DIR, or move that one away"
        )
    try:
        check_data(run, data)
    except ValueError as error:
        raise RunError(str(error)) from error
    return run


def _probes(run: Run) -> Path:
    return run.path / "other-steps.json"


def _probe(run: Run, steps: Sequence[int], say: Callable[[str], None]) -> None:
    """Evaluate the trained model with other numbers of inner steps."""
    recipe, data, model = load(run)
    found = {}
    for t in steps:
        say(f"evaluating with T = {t}")
        batches = evaluation_batches(data.evaluation, recipe.evaluation_batch_size)
        result = evaluate(with_inner_loop(model, steps=t), batches, dtype=jnp.dtype(recipe.dtype))
        found[str(t)] = {
            "accuracy": result.accuracy,
            "loss": result.loss if math.isfinite(result.loss) else None,  # too many steps may diverge
            "inner_losses": result.per_layer() if math.isfinite(result.loss) else None,
        }
    write_json(_probes(run), found)
