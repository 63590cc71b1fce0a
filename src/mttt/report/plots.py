"""Drawings of studies, as SVG, from plain numbers. The same numbers give the same bytes."""

import io
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mttt.runs import Record

Accuracies = Sequence[float]
BLUE, ORANGE, GRAY = "#2457a6", "#d2691e", "#8b95a3"


def can_draw() -> bool:
    """Is matplotlib there?"""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw_png(place: Path, width: float, height: float, paint: Callable[[Any], None]) -> None:
    """A drawing as a PNG file, for screens."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    paint(figure)
    figure.savefig(place, dpi=150, format="png")


def draw_file(place: Path, kind: str, width: float, height: float, paint: Callable[[Any], None]) -> None:
    """A drawing as a file of a kind: png, for screens, or svg."""
    if kind == "svg":
        place.write_text(_draw(width, height, paint), encoding="utf-8")
    else:
        draw_png(place, width, height, paint)


def _draw(width: float, height: float, paint: Callable[[Any], None]) -> str:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": "mttt", "axes.spines.top": False, "axes.spines.right": False, "font.size": 10}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        paint(figure)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def accuracies(rows: Mapping[str, Accuracies], mark: Sequence[str] = ()) -> str:
    """A line for each row: every seed, and the mean. Rows named in `mark` stand out."""

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        for place, (label, values) in enumerate(rows.items()):
            colour = ORANGE if label in mark else BLUE
            axes.plot(values, [place] * len(values), "o", color=colour, alpha=0.35, markersize=5)
            axes.plot([statistics.mean(values)], [place], "|", color=colour, markersize=18, markeredgewidth=2.5)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set_ylim(len(rows) - 0.4, -0.6)  # the first on top
        axes.set_xlabel("accuracy on the test images, %  (dots: seeds, bars: means)")
        axes.grid(axis="x", alpha=0.3)

    return _draw(7.5, 0.42 * len(rows) + 0.9, paint)


def against_steps(series: Mapping[str, Mapping[int, Accuracies]], xlabel: str, *, log: bool = False) -> str:
    """Accuracy against a number of steps: means, and the range of seeds."""

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        for (name, points), colour in zip(series.items(), (BLUE, ORANGE, GRAY), strict=False):
            steps = sorted(points)
            means = [statistics.mean(points[t]) for t in steps]
            spans = [[m - min(points[t]) for t, m in zip(steps, means, strict=True)]]
            spans.append([max(points[t]) - m for t, m in zip(steps, means, strict=True)])
            axes.errorbar(steps, means, yerr=spans, fmt="o-", color=colour, label=name, capsize=3, linewidth=1.5)
        ticks = sorted({t for points in series.values() for t in points})
        if log:
            axes.set_xscale("symlog", base=2, linthresh=1)
        axes.set_xticks(ticks, list(map(str, ticks)))
        axes.minorticks_off()
        axes.set_xlabel(xlabel)
        axes.set_ylabel("accuracy, %")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)

    return _draw(5.6, 3.6, paint)


def many_lines(series: Mapping[str, Mapping[int, Accuracies]], xlabel: str, ylabel: str, *, dots: bool = True) -> str:
    """Many rows against a number that doubles: means, and the range of seeds."""

    def paint(figure: Any) -> None:
        import matplotlib

        axes, colours = figure.subplots(), matplotlib.colormaps["tab10"]
        for number, (name, points) in enumerate(series.items()):
            at = sorted(points)
            colour, style = colours(number % 10), "-" if number < 10 else "--"
            means = [statistics.mean(points[x]) for x in at]
            axes.plot(at, means, style, marker="o" if dots else None, markersize=4, color=colour, label=name)
            axes.fill_between(at, [min(points[x]) for x in at], [max(points[x]) for x in at], color=colour, alpha=0.12)
        axes.set_xscale("log", base=2)
        if dots:
            ticks = sorted({x for points in series.values() for x in points})
            axes.set_xticks(ticks, list(map(str, ticks)))
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.grid(alpha=0.3)
        figure.legend(loc="outside right center", fontsize=8, frameon=False)

    return _draw(8.2, 4.2, paint)


def inner_losses(curves: Sequence[Sequence[Record]]) -> str:
    """The paper's figure 1 (right) for every layer; the mean of the seeds' curves."""
    return _draw(7.6, 3.3, lambda figure: paint_inner_losses(figure, curves))  # sizes itself


def paint_inner_losses(figure: Any, curves: Sequence[Sequence[Record]]) -> None:
    """ℓ(W_t) at t = 0 … T over the epochs of the outer loop, a panel for each layer."""
    import matplotlib

    colours = matplotlib.colormaps["viridis"]
    first = curves[0]
    layers, steps = len(first[0]["inner_losses"]), len(first[0]["inner_losses"][0])
    columns = min(layers, 4)
    rows = -(-layers // columns)
    figure.set_size_inches(3.4 * columns + 1.4, 2.9 * rows + 0.4)
    panels = list(figure.subplots(rows, columns, sharex=True, squeeze=False).flat)
    for axes in panels[layers:]:
        axes.set_visible(False)
    for layer, axes in enumerate(panels[:layers]):
        for t in range(steps):
            means = [
                statistics.mean(curve[place]["inner_losses"][layer][t] for curve in curves)
                for place in range(len(first))
            ]
            colour = colours(0.88 * t / max(steps - 1, 1))
            axes.plot([r["epoch"] for r in first], means, "o-", markersize=3, color=colour, label=f"t = {t}")
        axes.set_title(f"layer {layer + 1}", fontsize=10)
        axes.grid(alpha=0.3)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False)
    figure.supxlabel("epoch of the outer loop", fontsize=10)
    figure.supylabel("inner loss ½(x̂ − x)²,\nmean over tokens and features", fontsize=9)


def growth(lengths: Sequence[int], layers: Mapping[str, Mapping[str, Any]]) -> str:
    """Time and memory against n, in log-log."""

    def paint(figure: Any) -> None:
        panels = figure.subplots(1, 2)
        names = {"step_ms": "milliseconds, forward + backward", "temp_bytes": "MiB of temporary memory"}
        for axes, (what, label) in zip(panels, names.items(), strict=True):
            for name, layer in layers.items():
                values = [value / 2**20 if what == "temp_bytes" else value for value in layer[what]]
                style = "o--" if layer["kind"] == "kernel" else "o-"
                axes.plot(lengths, values, style, markersize=4, linewidth=1.5, label=name)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.set_xticks(lengths, list(map(str, lengths)))
            axes.set_xlabel("tokens n")
            axes.set_ylabel(label)
            axes.grid(alpha=0.3)
        panels[0].legend(fontsize=8, frameon=False)

    return _draw(8.6, 3.6, paint)
