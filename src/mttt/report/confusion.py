"""A picture of which classes are taken for which."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from mttt.files import whole
from mttt.report.plots import draw_png

_NAMED, _NUMBERED, _LETTERS = 60, 25, 24  # the most classes with names and with numbers; letters of a name


def draw_confusion(
    path: Path, counts: Int64[np.ndarray, "classes classes"], classes: Sequence[str], title: str
) -> None:
    """A square for every pair of classes, as a PNG file: rows are true classes, columns what they were taken for."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = 2.6 + min(max(len(classes), 6), _NAMED) * (0.42 if len(classes) <= _NUMBERED else 0.16)

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
        if len(classes) <= _NAMED:
            names, size = [_short(name) for name in classes], 9 if len(classes) <= _NUMBERED else 6
            axes.set_xticks(range(len(names)), names, rotation=90 if max(map(len, names)) > 2 else 0, fontsize=size)
            axes.set_yticks(range(len(names)), names, fontsize=size)
        if len(classes) <= _NUMBERED:
            for row, column in zip(*np.nonzero(counts), strict=True):
                colour = "white" if shares[row, column] > 0.5 else "black"
                number = f"{counts[row, column]:,}"
                axes.text(column, row, number, ha="center", va="center", fontsize=8, color=colour)
        axes.set_xlabel("predicted class")
        axes.set_ylabel("true class")
        axes.set_title(title.replace("$", r"\$"), fontsize=10)
        figure.colorbar(image, ax=axes, label="share of the true class", shrink=0.7)

    with whole(path) as place:
        draw_png(place, side + 1.2, side, paint)


def _short(name: str) -> str:
    """A name that fits, and is not read as a formula."""
    return (name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…").replace("$", r"\$")
