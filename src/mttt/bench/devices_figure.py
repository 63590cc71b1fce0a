"""How far a training scales: bounds of images a second against the number of devices."""

from pathlib import Path
from typing import Any

from mttt.files import whole


def draw_devices(found: dict[str, Any], path: Path) -> None:
    """One panel for each model; a line for each accelerator, a hollow mark where the step does not fit its memory."""
    import matplotlib.figure

    cases = list(dict.fromkeys(row["case"] for row in found["rows"]))
    figure = matplotlib.figure.Figure(figsize=(4.6 * len(cases), 3.6), layout="constrained")
    for panel, case in zip(figure.subplots(1, len(cases), squeeze=False)[0], cases, strict=True):
        rows = sorted((row for row in found["rows"] if row["case"] == case), key=_devices)
        for number, chip in enumerate(found["accelerators"]):
            name, colour = chip["name"], f"C{number}"
            speeds = [row["bounds"][name]["images_per_second"] for row in rows]
            panel.plot(
                [_devices(row) for row in rows if row["sequence"] == 1],
                [speed for row, speed in zip(rows, speeds, strict=True) if row["sequence"] == 1],
                color=colour,
            )
            for row, speed in zip(rows, speeds, strict=True):
                fits = row["bounds"][name]["fits"]
                mark = "o" if row["sequence"] == 1 else "s"
                panel.plot(
                    _devices(row),
                    speed,
                    mark,
                    color=colour,
                    markerfacecolor=colour if fits else "none",
                    label=name if row is rows[0] else None,
                )
        panel.set(xscale="log", yscale="log", title=case, xlabel="devices", ylabel="images/s, at most")
        panel.legend(frameon=False, fontsize=8)
        panel.grid(alpha=0.3)
    with whole(path) as beside:
        figure.savefig(beside, format="png", dpi=150)


def _devices(row: dict[str, Any]) -> int:
    return row["data"] * row["sequence"]
