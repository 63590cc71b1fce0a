"""Lines of metrics as trainings write them."""

import json
from pathlib import Path


def train(step: int, loss: float = 1.0) -> dict:
    place = {"kind": "train", "step": step, "epoch": step / 10}
    return place | {"loss": loss, "accuracy": 0.5, "rate": 1e-3, "examples_per_second": 100.0 if step > 1 else None}


def evaluation(step: int, losses=((2.0, 1.5, 1.0), (4.0, 3.5, 3.0))) -> dict:
    ends = None if losses is None else [[[layer[0] - 1, layer[-1]], [layer[0] + 1, layer[-1]]] for layer in losses]
    place = {"kind": "evaluation", "step": step, "epoch": step / 10, "loss": 0.9, "accuracy": 0.6, "examples": 10}
    inner = None if losses is None else [list(layer) for layer in losses]
    return place | {"inner_losses": inner, "inner_losses_by_head": ends, "examples_per_second": None}


SKIPPED = {"kind": "skipped", "step": 1, "part": "train", "name": "a.png", "reason": "broken"}


def write(run: Path, records, end: str = "\n") -> None:
    """Over what is there, as a training that was resumed does: another file gets the name."""
    beside = run / "beside"
    beside.write_text("\n".join(map(json.dumps, records)) + end if records else "")
    beside.rename(run / "metrics.jsonl")


def append(run: Path, *records) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write("".join(json.dumps(record) + "\n" for record in records))
