"""The numbers of the paper: tables 1 and 3 of "Learning to (Learn at Test Time)" (Sun et al., 2023)."""

from collections.abc import Iterable
from typing import NamedTuple

from mttt.studies.row import Row


class Printed(NamedTuple):
    """A row as it is printed: accuracy in percent, parameters in millions, FLOPs relative to linear attention.

    The parameters of table 3 leave out its learned positions.
    """

    table: int
    size: str
    layer: str
    accuracy: float | None
    parameters: float
    flops: float


PRINTED = (
    # ImageNet from 14 × 14 patches: n = 196.
    Printed(1, "small", "Linformer", 71.9, 22.2, 0.9),
    Printed(1, "small", "Longformer", 76.3, 27.4, 1.1),
    Printed(1, "small", "SOFT", 74.6, 23.5, 0.9),
    Printed(1, "small", "Hyena", 74.8, 23.5, 1.0),
    Printed(1, "small", "Self-attention", 76.5, 22.1, 1.1),
    Printed(1, "small", "Linear attention (Katharopoulos et al.)", 73.2, 22.1, 1.0),
    Printed(1, "small", "Linear attention, identity map", 73.0, 22.1, 1.0),
    Printed(1, "small", "MTTT-Linear", 72.8, 22.1, 1.1),
    Printed(1, "small", "MTTT-MLP", 74.6, 24.6, 1.5),
    # ImageNet from 224 × 224 raw pixels: n = 50,176.
    Printed(3, "tiny", "Self-attention", None, 5.6, 200.0),
    Printed(3, "tiny", "Linear attention (Katharopoulos et al.)", 53.7, 5.6, 1.0),
    Printed(3, "tiny", "Linear attention, identity map", 49.9, 5.6, 1.0),
    Printed(3, "tiny", "MTTT-Linear", 50.0, 5.6, 1.1),
    Printed(3, "tiny", "MTTT-MLP", 61.9, 6.8, 1.8),
    Printed(3, "tiny", "MTTT-MLP SGD T=4", 65.2, 6.8, 1.8),
    Printed(3, "small", "Linear attention (Katharopoulos et al.)", 54.4, 21.8, 3.9),
    Printed(3, "small", "Linear attention, identity map", 55.7, 21.8, 3.9),
)


def printed(row: Row) -> Printed | None:
    """What tables 1 and 3 print for a row of ours."""
    place = ({"patches": 1, "pixels": 3}.get(row.look), row.size, row.label)
    return next((each for each in PRINTED if each[:3] == place), None)


def accuracies(rows: Iterable[Row]) -> dict[str, float]:
    """What they print of the accuracies of rows of ours, by their names."""
    found = {row.name: each.accuracy for row in rows if (each := printed(row)) is not None}
    return {name: accuracy for name, accuracy in found.items() if accuracy is not None}
