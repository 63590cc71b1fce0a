"""Weights & Biases, online or (WANDB_MODE=offline) in files that `wandb sync` sends later."""

import os
from importlib import import_module
from typing import Any

from mttt.tracking.scalars import scalars
from mttt.tracking.tracker import Record, Tracked, Tracker


class WeightsAndBiases(Tracker):
    """A run with the id of ours, so that a resumed training goes on in it. The project is WANDB_PROJECT, or mttt."""

    def __init__(self, tracked: Tracked):
        wandb: Any = import_module("wandb")

        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "mttt"),
            id=tracked.id,
            name=tracked.name,
            resume="allow",
            config=tracked.recipe,
            dir=tracked.directory,
            settings=wandb.Settings(silent=True, console="off"),
        )
        offline = getattr(self._run, "offline", False)
        self.where = f"{self._run.dir} (offline)" if offline else str(self._run.url)
        # Steps of a W&B run only grow: what it has is not sent again, and cannot be taken back.
        self._first = self._run.starting_step

    def record(self, record: Record) -> None:
        if (numbers := scalars(record)) and record["step"] >= self._first:
            self._run.log(numbers, step=record["step"])

    def close(self) -> None:
        self._run.finish()
