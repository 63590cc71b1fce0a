"""Rows times seeds: trained one after the other, resumed after a kill, skipped if they are there.

    DIR/runs/ROW/seed-K/    a run, as `mttt train` makes them; other-steps.json if the row asks for it, and
                            diverged.json if its loss became infinite: it is not tried again

Directories of several machines merge by copying: a run is where its row and seed say. Nothing else is kept.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax

from mttt.data import DataSet, Spec, describe
from mttt.fields import differences
from mttt.files import write_json
from mttt.mixers import with_inner_loop
from mttt.outer import NotFinite, Plan
from mttt.recipes import Recipe, encode, recipe_of
from mttt.recipes.recipe import ViTRecipe
from mttt.runs import InUse, Record, Run, RunError
from mttt.studies.formulas import vit
from mttt.studies.row import Row
from mttt.studies.scale import Scale, Seeds
from mttt.studies.watch import Watcher
from mttt.training import Observer, Prepared, check_data, default_workers, launch, load, prepare


class Job(NamedTuple):
    """One run of the grid."""

    row: Row
    seed: int

    def __str__(self) -> str:
        return f"{self.row.name}, seed {self.seed}"


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
        """The run of a job, if it was begun. One of another recipe is refused: its number would be another row's."""
        path = self.path(job)
        if not path.exists():
            return None
        run = Run.open(path)
        changed = differences(encode(recipe_of(run)), encode(self.recipe(job)))
        # Where the images are may differ from machine to machine; that they are the same is checked by their names.
        if changed := [one for one in changed if one.path != "data.path"]:
            raise RunError(
                f"{path} is a run of another recipe, and is not overwritten:\n  "
                + "\n  ".join(map(str, changed))
                + "\nChoose another directory, or move that one away"
            )
        return run

    def finished(self, job: Job) -> Run | None:
        """The run of a job, if it is trained."""
        run = self.run(job)
        return run if run is not None and run.result is not None else None

    def diverged(self, job: Job) -> Record | None:
        """Why a run has no result and never will, if that is so."""
        return _read(self.path(job) / "diverged.json")

    def probes(self, job: Job) -> dict[int, Record] | None:
        """The trained model with other numbers of inner steps, if it was asked for and is there."""
        found = _read(self.path(job) / "other-steps.json")
        return None if found is None else {int(steps): record for steps, record in found.items()}

    def kept(self, name: str) -> Any:
        """What is kept beside the runs under a name, if it is there."""
        return _read(self.directory / "runs" / name)

    def keep(self, name: str, found: Any) -> None:
        """Keep it there."""
        write_json(self.directory / "runs" / name, found)

    def seeds(self, row: Row) -> list[int]:
        """Of the runs of a row that were begun."""
        names = [path.name for path in (self.directory / "runs" / row.name).glob("seed-*")]
        return sorted(int(name[5:]) for name in names if name[5:].isdecimal())

    def done(self, job: Job) -> bool:
        """Is there nothing left to do?"""
        if self.finished(job) is None:
            return self.diverged(job) is not None
        return set(job.row.probe) <= set(self.probes(job) or ())


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def jobs_of(rows: Sequence[Row], seeds: int | Seeds) -> list[Job]:
    """Every row with seed 0, then every row with seed 1, …: what is there first is balanced."""
    unique = {row.name: row for row in rows}
    many = {name: seeds if isinstance(seeds, int) else seeds[row.look] for name, row in unique.items()}
    most = max(many.values(), default=0)
    return [Job(row, seed) for seed in range(most) for name, row in unique.items() if seed < many[name]]


class Grid:
    """Jobs that were checked: mistakes show before hours of work, not after them."""

    def __init__(self, place: Place, jobs: Sequence[Job]):
        """A ValueError or a RunError says what is wrong with what was asked for."""
        self.place, self.jobs = place, list(jobs)
        self.left = [job for job in jobs if not place.done(job)]
        self._images: dict[object, DataSet] = {}
        self._refuse_what_lost_its_checkpoints()
        for job in self.left:
            self.prepared(job)
            if (run := place.run(job)) is not None:
                check_data(run, self.data(job))

    def _refuse_what_lost_its_checkpoints(self) -> None:
        """Copies without checkpoints serve if all is done. Others could neither go on nor be evaluated any further."""
        if lost := [str(self.place.path(job)) for job in self.left if self._is_lost(job)]:
            raise RunError(
                "these runs are not done, and their checkpoints are not there:\n  "
                + "\n  ".join(lost)
                + "\nBring the checkpoints back from a copy, or move the runs away to train them anew"
            )

    def _is_lost(self, job: Job) -> bool:
        run = self.place.run(job)
        if run is None or (run.path / "checkpoints").is_dir():
            return False
        last = max((record["step"] for record in run.metrics.read()), default=0)
        return run.result is not None or last > self.prepared(job).plan.checkpoint_every

    def data(self, job: Job) -> DataSet:
        """The images of a job, loaded once."""
        recipe = self.place.recipe(job)
        if recipe.data not in self._images:
            self._images[recipe.data] = recipe.data.load()
        return self._images[recipe.data]

    def prepared(self, job: Job) -> Prepared:
        """The training of a job."""
        return prepare(self.place.recipe(job), self.data(job))

    def work(self, watcher: Watcher, *, workers: int | None = None) -> list[Job]:
        """Do what is not done. The jobs that another process is working on are left to it, and returned."""
        if not self.left:  # and no images are needed
            watcher.begin({}, 1.0)
            return []
        weights = {job: weight(self.prepared(job).plan, self.place.scale, job, self.data(job)) for job in self.jobs}
        watcher.begin({job: weights[job] for job in self.left}, sum(weights.values()))
        others = []
        for job in self.left:
            data, prepared = self.data(job), self.prepared(job)
            observer = watcher.job(job, prepared.plan.steps, data.evaluation_name)
            run = self._open(job, prepared.recipe, data)
            try:
                with run.locked():
                    watcher.finished(job, self._do(job, prepared, run, observer, watcher.say, workers))
            except InUse:
                watcher.say(f"{run.path} is being trained by another process, and is left to it")
                watcher.left_to_others(job)
                others.append(job)
            jax.clear_caches()  # every program maps memory, and a process may have only so many maps
        return others

    def _open(self, job: Job, recipe: Recipe, data: DataSet) -> Run:
        run = self.place.run(job)
        if run is None:
            try:
                return Run.create(self.place.path(job), encode(recipe), describe(data))
            except RunError:  # another process was faster
                run = self.place.run(job)
        assert run is not None
        return run

    def _do(
        self,
        job: Job,
        prepared: Prepared,
        run: Run,
        observer: Observer,
        say: Callable[[str], None],
        workers: int | None,
    ) -> float | None:
        """Train the run and probe it; its accuracy, or None if it diverged."""
        data = self.data(job)
        if self.place.diverged(job) is not None:  # in another process, meanwhile
            return None
        if run.result is None:
            many = default_workers(data) if workers is None else workers
            try:
                launch(prepared, data, run, observer, workers=many)
            except NotFinite as error:
                say(str(error))
                write_json(run.path / "diverged.json", {"step": error.step, "why": str(error)})
                return None
        if not self.place.done(job):
            _probe(run, data, job.row.probe, say)
        assert run.result is not None
        return run.result["accuracy"]


def weight(plan: Plan, scale: Scale, job: Job, data: DataSet) -> float:
    """FLOPs of a training: a step is three forward passes."""
    evaluations = -(-plan.steps // plan.evaluate_every) + len(job.row.probe)
    forwards = 3 * plan.steps * plan.batch_size + evaluations * len(data.evaluation)
    return float(forwards) * forward_flops(scale, job.row, data.spec)


def forward_flops(scale: Scale, row: Row, spec: Spec) -> int:
    """FLOPs of a forward pass of one image, by formulas."""
    height, width, channels = spec.inputs.shape
    model = scale.looks[row.look].model
    assert isinstance(model, ViTRecipe)
    patch = model.patch
    tokens = (height // patch) * (width // patch)
    return vit(row.mixer, scale.size(row), tokens, channels * patch**2, len(spec.classes))


def _probe(run: Run, data: DataSet, steps: Sequence[int], say: Callable[[str], None]) -> None:
    """Evaluate the trained model with other numbers of inner steps. Too many may diverge."""
    check_data(run, data)
    loaded, found = load(run.path), {}
    for t in steps:
        say(f"    evaluating with T = {t}")
        batches = loaded.prepared.evaluation_batches(data)
        found[str(t)] = loaded.prepared.evaluate(with_inner_loop(loaded.model, steps=t), batches).record()
    write_json(run.path / "other-steps.json", found)
