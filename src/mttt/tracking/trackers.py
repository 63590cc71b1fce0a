"""The trackers there are, and whether their packages are."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from mttt.tracking.tracker import Tracked, Tracker


class TrackerKind(NamedTuple):
    """A tracker before it is imported."""

    package: str
    """what it needs; pip and import call it the same"""
    module: str
    class_name: str

    def load(self) -> Callable[[Tracked], Tracker]:
        """The class. Its package is imported when one is made."""
        return getattr(import_module(self.module), self.class_name)


TRACKERS = {
    "tensorboard": TrackerKind("tensorboardX", "mttt.tracking.tensorboard", "TensorBoard"),
    "wandb": TrackerKind("wandb", "mttt.tracking.wandb", "WeightsAndBiases"),
    "trackio": TrackerKind("trackio", "mttt.tracking.trackio", "Trackio"),
}


def missing(name: str) -> str | None:
    """The package that a tracker needs and that is not installed."""
    package = TRACKERS[name].package
    spec = find_spec(package)
    # A folder `wandb`, which that package makes where it runs, looks like a package without an origin.
    return package if spec is None or spec.origin is None else None
