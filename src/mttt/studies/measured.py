"""What the runs of a grid say, row by row."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax

from mttt.data import Spec
from mttt.runs import Record, Run, RunError
from mttt.studies.grid import Job, Place, forward_flops
from mttt.studies.paper import printed
from mttt.studies.row import Row, Study
from mttt.training import prepare_for

SPEEDS = "step-times.json"  # beside the runs


@dataclass(frozen=True)
class Measured:
    """A row of a study. Accuracies are in percent, by seed."""

    row: Row
    accuracies: dict[int, float]
    diverged: tuple[int, ...]
    """seeds whose loss became infinite"""
    parameters: int
    flops: int
    """of a forward pass of one image"""
    step_ms: float | None
    """of a training step; measured in turn with the other rows"""
    curves: dict[int, list[Record]]
    """evaluations during training, by seed"""
    probes: dict[int, dict[int, Record]]
    """by seed and number of inner steps"""
    origins: tuple[tuple[dict[str, str], str], ...] = ()
    """versions and machines of the runs"""

    @property
    def mean(self) -> float | None:
        return statistics.mean(self.accuracies.values()) if self.accuracies else None

    @property
    def std(self) -> float | None:
        return statistics.stdev(self.accuracies.values()) if len(self.accuracies) > 1 else None

    def json(self, study: Study, base: "Measured | None") -> dict[str, Any]:
        """The row, for programs."""
        paper = printed(self.row)
        return {
            "name": self.row.name,
            "label": self.row.label,
            "look": self.row.look,
            "size": self.row.size,
            "mean": self.mean,
            "std": self.std,
            "seeds": sorted(self.accuracies),
            "diverged": list(self.diverged),
            "accuracies": [self.accuracies[seed] for seed in sorted(self.accuracies)],
            "parameters": self.parameters,
            "flops": self.flops,
            "flops_relative": relative_flops(self, base),
            "step_ms": self.step_ms,
            "step_time_relative": relative_time(self, base),
            "paper_accuracy": study.paper.get(self.row.name),
            "paper_parameters_millions": None if paper is None else paper.parameters,
            "paper_flops_relative": None if paper is None else paper.flops,
            "inner_losses": {str(seed): [_curve(record) for record in c] for seed, c in self.curves.items()} or None,
            "other_steps": {
                str(seed): {str(t): 100 * record["accuracy"] for t, record in probes.items()}
                for seed, probes in self.probes.items()
            }
            or None,
        }


def _curve(record: Record) -> dict[str, Any]:
    return {name: record[name] for name in ("step", "epoch", "accuracy", "inner_losses")}


def relative_flops(row: Measured, base: Measured | None) -> float | None:
    """How many times the FLOPs; None if there is nothing to compare with."""
    return None if base is None or base.row.look != row.row.look else row.flops / base.flops


def relative_time(row: Measured, base: Measured | None) -> float | None:
    """How many times longer a training step of a row takes; None if there is nothing to compare with."""
    if base is None or base.row.look != row.row.look or not base.step_ms or not row.step_ms:
        return None
    return row.step_ms / base.step_ms


def known_speeds(place: Place) -> dict[str, Any]:
    """What was measured of training steps, by the name of the row."""
    return (place.kept(SPEEDS) or {"rows": {}})["rows"]


def runs_of(place: Place, rows: Iterable[Row]) -> dict[Job, Run]:
    """Every run that was begun. Runs of other recipes, or on other images than the first of its kind, are refused."""
    found: dict[Job, Run] = {}
    first: dict[str, Run] = {}
    for job in (Job(row, seed) for row in rows for seed in place.seeds(row)):
        run = place.run(job)
        if run is None:
            continue
        other = first.setdefault(job.row.look, run)
        if run.data != other.data:
            raise RunError(
                f"{run.path} and {other.path} are runs on different images, and cannot be compared. Move one of them "
                "away, or choose another directory"
            )
        found[job] = run
    return found


def measure(place: Place, rows: Iterable[Row]) -> dict[str, Measured]:
    """Every row that has a run, by its name, with all seeds that are there. The images are not needed for it."""
    rows, found = list(rows), {}
    speeds = known_speeds(place)
    every = runs_of(place, rows)
    for row in rows:
        begun = {job.seed: run for job, run in every.items() if job.row == row}
        runs = {seed: run for seed, run in begun.items() if run.result is not None}
        diverged = tuple(seed for seed in begun if place.diverged(Job(row, seed)) is not None)
        if not (runs or diverged):
            continue
        data = next(iter(begun.values())).data
        spec = Spec.from_json(data["spec"])
        model = prepare_for(place.recipe(Job(row, 0)), spec, data["train"]["examples"]).shapes().model
        arrays = [leaf for leaf in jax.tree.leaves(model) if isinstance(leaf, jax.ShapeDtypeStruct)]
        found[row.name] = Measured(
            row,
            {seed: 100 * run.result["accuracy"] for seed, run in runs.items() if run.result is not None},
            diverged,
            sum(array.size for array in arrays),
            forward_flops(place.scale, row, spec),
            speeds.get(row.name, {}).get("step_ms"),
            {seed: curve for seed, run in runs.items() if row.curves and (curve := run.metrics.read("evaluation"))},
            {seed: probes for seed in runs if row.probe and (probes := place.probes(Job(row, seed)))},
            _origins(runs or begun),
        )
    return found


def _origins(runs: dict[int, Run]) -> tuple[tuple[dict[str, str], str], ...]:
    found = []
    for run in runs.values():
        if (origin := (run.versions, run.machine)) not in found:
            found.append(origin)
    return tuple(found)
