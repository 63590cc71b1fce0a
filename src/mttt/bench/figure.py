"""Time and memory against the number of tokens."""

from pathlib import Path

from mttt.bench.measure import Measurements, Timing
from mttt.files import whole


def draw_lengths(measurements: Measurements, path: Path) -> None:
    """Two panels, both axes logarithmic: a straight line of slope 1 is linear."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.4), layout="constrained")
    panels = {
        "forward + backward, ms": lambda row: row.step_ms,
        "temporary memory, MiB": lambda row: None if row.temp_bytes is None else row.temp_bytes / 2**20,
    }
    layers = list(dict.fromkeys(row.layer for row in measurements.rows))
    both = figure.subplots(1, 2)
    for axes, (label, of) in zip(both, panels.items(), strict=True):
        for layer in layers:
            rows: list[Timing] = [row for row in measurements.rows if row.layer == layer and of(row) is not None]
            line = "--" if layer.startswith(("naive", "self")) else "-"
            xs, ys = [row.tokens for row in rows], [of(row) for row in rows]
            axes.loglog(xs, ys, linestyle=line, marker="o", markersize=4, label=layer)
        axes.set_xlabel("tokens n")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3, which="both")
    both[0].legend(fontsize=8)
    figure.suptitle("One layer, width 192, 3 heads, float32", fontsize=11)
    with whole(path) as beside:
        figure.savefig(beside, dpi=150, format="png")
