"""Pictures of a run, from what the run wrote."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mttt.files import whole
from mttt.report.plots import paint_inner_losses
from mttt.runs import Record, Run, RunError

Drawing = Callable[[Any], None]


def draw_figures(run: Run) -> list[Path]:
    """Learning curves, and the inner losses of each layer; nothing without matplotlib."""
    return _draw(run, _drawings(run))


def complete_figures(run: Run) -> list[Path]:
    """Draw those that are not there: a run may have been stopped between two of them."""
    return _draw(run, {name: draw for name, draw in _drawings(run).items() if not (run.figures / name).exists()})


def _drawings(run: Run) -> dict[str, Drawing]:
    training, evaluations = run.metrics.read("train"), run.metrics.read("evaluation")
    if not evaluations:
        return {}
    drawings: dict[str, Drawing] = {
        "learning-curves.png": lambda figure: _learning_curves(figure, training, evaluations)
    }
    shapes = {_shape(record) for record in evaluations}
    if len(shapes) > 1:
        raise RunError(f"{run.metrics.path} has evaluations of different models: their inner losses do not match")
    if shapes != {None}:
        drawings["inner-losses.png"] = lambda figure: paint_inner_losses(figure, [evaluations])
    return drawings


def _shape(record: Record) -> tuple[int, int] | None:
    """Layers and times of the inner losses."""
    losses = record["inner_losses"]
    return None if losses is None else (len(losses), len(losses[0]))


def _draw(run: Run, drawings: dict[str, Drawing]) -> list[Path]:
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    paths = []
    for name, draw in drawings.items():
        figure = Figure(layout="constrained")
        draw(figure)
        path = run.figures / name
        with run.writing(f"figures/{name}"):
            run.figures.mkdir(exist_ok=True)
            with whole(path) as beside:
                figure.savefig(beside, dpi=150, format="png")
        paths.append(path)
    return paths


def _learning_curves(figure: Any, training: list[Record], evaluations: list[Record]) -> None:
    figure.set_size_inches(9, 3.8)
    for axes, what in zip(figure.subplots(1, 2), ("loss", "accuracy"), strict=True):
        for records, label, style in ((training, "training", "-"), (evaluations, "evaluation", "o-")):
            xs, ys = [r["epoch"] for r in records], [r[what] for r in records]
            axes.plot(xs, ys, style, label=label, markersize=3, linewidth=1.2, alpha=0.6 if label == "training" else 1)
        axes.set_xlabel("epoch")
        axes.set_ylabel("cross entropy" if what == "loss" else "accuracy")
        axes.grid(alpha=0.3)
        axes.legend()
        if what == "accuracy":
            axes.set_ylim(0, 1.02)
            axes.set_title(f"at the end: {evaluations[-1]['accuracy']:.1%}", fontsize=10)
