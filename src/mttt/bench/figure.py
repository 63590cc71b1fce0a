"""Time and memory against the number of tokens."""

from collections.abc import Callable
from pathlib import Path

from mttt.bench.measure import Measurements, Timing
from mttt.files import whole

PANELS: dict[str, Callable[[Timing], float | None]] = {
    "forward, ms": lambda row: row.forward_median_ms,
    "training step (forward + backward), ms": lambda row: row.step_median_ms,
    "memory of the training step, MiB": lambda row: None if row.temp_bytes is None else row.temp_bytes / 2**20,
}


def draw_layers(found: Measurements, path: Path) -> None:
    """A panel for each cost, both axes logarithmic: a straight line of slope 1 is linear in n."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator

    figure = Figure(figsize=(12, 4.2), layout="constrained")
    layers = list(dict.fromkeys(row.layer for row in found.rows))
    lengths = sorted({row.tokens for row in found.rows})
    panels = figure.subplots(1, len(PANELS))
    for axes, (label, cost) in zip(panels, PANELS.items(), strict=True):
        for layer in layers:
            points = [(row.tokens, cost(row)) for row in found.rows if row.layer == layer]
            points = [(n, value) for n, value in points if value is not None]
            style = {"color": "black", "linestyle": "--"} if layer == "self-attention" else {"linestyle": "-"}
            axes.loglog(
                [n for n, _ in points], [value for _, value in points], marker="o", markersize=4, label=layer, **style
            )
        axes.set_title(label, fontsize=10)
        axes.set_xlabel("tokens n")
        axes.xaxis.set_major_locator(FixedLocator(lengths))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize=8)
    with whole(path) as beside:
        figure.savefig(beside, dpi=150, format="png")
