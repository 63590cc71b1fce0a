"""Curves of several runs in one figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mttt.files import whole
from mttt.report.plots import draw_file
from mttt.runs import Record

_COLOURS, _STYLES = 10, ("-", "--", ":", "-.")
_WIDTH, _HEIGHT = 4.4, 3.1  # inches of a panel
_LEGEND_ROWS = 0.22  # inches of a name


class Curves(NamedTuple):
    """What a run wrote, and how it is called beside the others."""

    name: str
    text: bool
    """is it of text? Its results are bits per byte then, and not accuracies"""
    training: list[Record]
    evaluations: list[Record]

    @property
    def inner(self) -> list[Record]:
        """The evaluations that say what the inner loops did."""
        return [record for record in self.evaluations if record["inner_losses"] is not None]


class _Panel(NamedTuple):
    title: str
    points: Any
    """from curves to lists of [(records, values, style)]"""


def draw_comparison(path: Path, runs: Sequence[Curves], over: str) -> None:
    """Training loss, results and inner losses against `over`, an epoch or a step; text in a row of panels of its own.

    A PNG or an SVG file, by its name.
    """
    rows = [row for text in (False, True) if (row := _panels([run for run in runs if run.text is text], text))]
    columns = max(len(panels) for _, panels in rows)
    legend = _LEGEND_ROWS * -(-len(runs) // 2) + 0.1

    def paint(figure: Any) -> None:
        axes = figure.subplots(len(rows), columns, squeeze=False)
        for row, (members, panels) in zip(axes, rows, strict=True):
            for place, panel in zip(row, panels, strict=False):
                _paint(place, panel, [(runs.index(run), run) for run in members], over)
            for place in row[len(panels) :]:
                place.set_visible(False)
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], linewidth=1.5, **_look(number)) for number in range(len(runs))]
        names = [_label(run.name) for run in runs]
        figure.legend(handles, names, loc="outside lower center", ncols=min(2, len(runs)), fontsize=8, frameon=False)

    with whole(path) as place:
        kind = path.suffix.lower().removeprefix(".")
        draw_file(place, kind, _WIDTH * columns, _HEIGHT * len(rows) + legend, paint)


def _panels(runs: list[Curves], text: bool) -> tuple[list[Curves], list[_Panel]] | None:
    """The panels for which some run of one kind has points; None if there are none."""
    field, title = ("bits_per_byte", "bits per byte, held out") if text else ("accuracy", "accuracy on held-out images")
    panels = [
        _Panel(f"training loss{', text' if text else ''}", lambda run: [(run.training, "loss", "")]),
        _Panel(title, lambda run: [(run.evaluations, field, "o")]),
        _Panel("inner loss, mean of layers\ndotted: before learning, line: after", _inner),
    ]
    there = [panel for panel in panels if any(records for run in runs for records, _, _ in panel.points(run))]
    return (runs, there) if there else None


def _inner(run: Curves) -> list[tuple[list[Record], Any, str]]:
    mean = lambda record, t: sum(losses[t] for losses in record["inner_losses"]) / len(record["inner_losses"])  # noqa: E731
    return [(run.inner, lambda record: mean(record, 0), ":"), (run.inner, lambda record: mean(record, -1), "o")]


def _paint(axes: Any, panel: _Panel, runs: list[tuple[int, Curves]], over: str) -> None:
    for number, run in runs:
        for records, value, style in panel.points(run):
            get = value if callable(value) else lambda record, field=value: record.get(field)
            points = [(record[over], get(record)) for record in records]
            points = [(x, y) for x, y in points if y is not None]
            marker = {"marker": "o", "markersize": 3} if style == "o" or len(points) == 1 else {}
            look = _look(number) | ({"linestyle": ":"} if style == ":" else {})
            axes.plot([x for x, _ in points], [y for _, y in points], linewidth=1.2, **look, **marker)
    axes.set_title(panel.title, fontsize=9)
    axes.set_xlabel(over, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)


def _look(number: int) -> dict[str, Any]:
    """Colours repeat after ten runs, with another kind of line."""
    return {"color": f"C{number % _COLOURS}", "linestyle": _STYLES[number // _COLOURS % len(_STYLES)]}


def _label(name: str) -> str:
    """As it is: matplotlib reads $ as mathematics, and leaves out what begins with an underscore."""
    return " " * name.startswith("_") + name.replace("$", r"\$")
