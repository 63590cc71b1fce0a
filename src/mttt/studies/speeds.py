"""How long a training step of every row takes: all rows of a kind in turn, so that a slow moment meets all alike."""

from collections.abc import Callable, Iterable
from typing import Any

from mttt.bench.measure import interleave, machine, milliseconds
from mttt.studies.row import Row
from mttt.studies.scale import Scale
from mttt.studies.trial import one_step

IMAGES = 32  # in a batch


def measure_speeds(
    scale: Scale, rows: Iterable[Row], *, repeats: int = 7, say: Callable[[str], None] = lambda words: None
) -> dict[str, Any]:
    """Milliseconds of a step, best and median, by the name of the row."""
    rows, found = list(rows), {}
    for look in dict.fromkeys(row.look for row in rows):
        programs = {row.name: one_step(scale, row, IMAGES) for row in rows if row.look == look}
        say(f"    {len(programs)} rows from {look}")
        runs = {name: lambda state=state, step=step: step(state) for name, (state, step) in programs.items()}
        for name, times in interleave(runs, repeats).items():
            best, median = milliseconds(times)
            found[name] = {"step_ms": best, "step_median_ms": median}
    return {"rows": found, "images": IMAGES, "repeats": repeats, **machine()}
