"""What the runs of a grid say, row by row."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax

from mttt.data import DataSet
from mttt.runs import Record, Run
from mttt.studies.grid import Job, Place, forward_flops
from mttt.studies.row import Row, Study


@dataclass(frozen=True)
class Measured:
    """A row of a study. Accuracies are in percent, by seed."""

    row: Row
    accuracies: dict[int, float]
    parameters: int
    flops: int
    """of a forward pass of one image"""
    images_per_second: float | None
    """in training, the median over log lines and seeds"""
    curves: dict[int, list[Record]]
    """evaluations during training, by seed"""
    probes: dict[int, dict[int, Record]]
    """by seed and number of inner steps"""

    @property
    def mean(self) -> float | None:
        return statistics.mean(self.accuracies.values()) if self.accuracies else None

    @property
    def std(self) -> float | None:
        return statistics.stdev(self.accuracies.values()) if len(self.accuracies) > 1 else None

    def json(self, study: Study, base: "Measured | None") -> dict[str, Any]:
        """The row, for programs."""
        relative = relative_time(self, base)
        return {
            "name": self.row.name,
            "label": self.row.label,
            "look": self.row.look,
            "size": self.row.size,
            "mean": self.mean,
            "std": self.std,
            "seeds": sorted(self.accuracies),
            "accuracies": [self.accuracies[seed] for seed in sorted(self.accuracies)],
            "parameters": self.parameters,
            "flops": self.flops,
            "flops_relative": self.flops / base.flops if base else None,
            "step_time_relative": relative,
            "images_per_second": self.images_per_second,
            "paper_accuracy": study.paper.get(self.row.name),
            "inner_losses": {str(seed): [_curve(record) for record in c] for seed, c in self.curves.items()} or None,
            "other_steps": {
                str(seed): {str(t): 100 * record["accuracy"] for t, record in probes.items()}
                for seed, probes in self.probes.items()
            }
            or None,
        }


def _curve(record: Record) -> dict[str, Any]:
    return {name: record[name] for name in ("step", "epoch", "accuracy", "inner_losses")}


def relative_time(row: Measured, base: Measured | None) -> float | None:
    """How many times longer a training step of a row takes."""
    if base is None or not base.images_per_second or not row.images_per_second:
        return None
    return base.images_per_second / row.images_per_second


def measure(place: Place, rows: Iterable[Row], seeds: int) -> dict[str, Measured]:
    """Every row by its name, with the seeds that are there."""
    data: dict[Any, DataSet] = {}
    found = {}
    for row in rows:
        recipe = place.recipe(Job(row, 0))
        if recipe.data not in data:
            data[recipe.data] = recipe.data.load()
        images = data[recipe.data]
        shapes = eqx.filter_eval_shape(recipe.model.build, images, key=jax.random.key(0))
        runs = {seed: run for seed in range(seeds) if (run := place.run(Job(row, seed))) is not None}
        found[row.name] = Measured(
            row,
            {seed: 100 * run.result["accuracy"] for seed, run in runs.items() if run.result is not None},
            sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(shapes, eqx.is_array_like)) if hasattr(leaf, "size")),
            forward_flops(place.scale, row, images),
            _speed(runs.values()),
            {seed: run.metrics.read("evaluation") for seed, run in runs.items()} if row.curves else {},
            {seed: probes for seed in runs if (probes := place.probes(Job(row, seed))) is not None},
        )
    return found


def _speed(runs: Iterable[Run]) -> float | None:
    speeds = [record["images_per_second"] for run in runs for record in run.metrics.read("train")]
    speeds = [speed for speed in speeds if speed is not None]
    return statistics.median(speeds) if speeds else None
