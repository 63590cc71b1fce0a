"""A picture of how well a text is predicted, by how much of it was seen before."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mttt.files import whole
from mttt.report.plots import BLUE, GRAY, ORANGE, draw_png


def draw_positions(path: Path, curves: Mapping[str, Sequence[float]], title: str) -> None:
    """The loss at every place of the context, a line for each curve, as a PNG file."""

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        for number, (name, losses) in enumerate(curves.items()):
            colour = (BLUE, ORANGE, GRAY)[number % 3]
            axes.plot(range(1, len(losses) + 1), losses, color=colour, linewidth=1.2, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xlabel("bytes of context")
        axes.set_ylabel("cross entropy of the next byte")
        axes.set_title(title.replace("$", r"\$"), fontsize=9)
        axes.grid(alpha=0.3)
        if len(curves) > 1:
            axes.legend(frameon=False)

    with whole(path) as place:
        draw_png(place, 7.0, 4.2, paint)
