"""TensorBoard: event files."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mttt.tracking.scalars import scalars
from mttt.tracking.tracker import Record, Tracked, Tracker


class TensorBoard(Tracker):
    """A file of events in RUN/tensorboard/, or in DIRECTORY/NAME-ID/.

    Every file has the whole run. It tells TensorBoard to forget the files before it, so nothing is there twice.
    """

    def __init__(self, tracked: Tracked):
        from tensorboardX import SummaryWriter
        from tensorboardX.summary import hparams

        usual = Path(tracked.path) / "tensorboard"
        place = usual if tracked.directory is None else Path(tracked.directory) / tracked.unique_name
        self.where = str(place)
        # Files are read in the order of their names, so that of a second one in the same second comes later, too.
        suffix = f".{time.time_ns()}"
        self._writer = SummaryWriter(self.where, purge_step=0, flush_secs=5, filename_suffix=suffix)
        files: Any = self._writer.file_writer
        for summary in hparams(dict(_flat(tracked.recipe)), {"eval/loss": 0.0, "eval/accuracy": 0.0}):
            files.add_summary(summary)  # add_hparams would make a run of its own for them
        self._writer.add_text("recipe", _as_code(tracked.recipe), 0)

    def record(self, record: Record) -> None:
        for name, value in scalars(record).items():
            self._writer.add_scalar(name, value, record["step"])

    def close(self) -> None:
        self._writer.close()


def _flat(part: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Values by path, such as model.mixer.kind; what is no number, text or truth value, as JSON."""
    if isinstance(part, dict):
        for name, inside in part.items():
            yield from _flat(inside, f"{path}.{name}" if path else name)
    else:
        yield path, part if isinstance(part, bool | int | float | str) else json.dumps(part)


def _as_code(recipe: dict[str, Any]) -> str:
    """Markdown shows lines that are indented as they are."""
    return "\n".join(f"    {line}" for line in json.dumps(recipe, indent=2).splitlines())
