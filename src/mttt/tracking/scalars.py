"""The numbers of a record, under the names that people look for in a tracker."""

from typing import Any

from mttt.tracking.tracker import Record

_NAMES = {
    "loss": "loss",
    "accuracy": "accuracy",
    "bits_per_byte": "bits_per_byte",
    "rate": "learning_rate",
    "examples_per_second": "examples_per_second",
}
_GROUPS = {"train": "train", "evaluation": "eval"}


def scalars(record: Record) -> dict[str, float]:
    """Numbers by name: `train/loss`, `eval/accuracy`, `inner_loss/layer1/before`. None for lines of another kind.

    `before` and `after` are at t = 0 and t = T, means over the heads; `inner_loss/layer1/head2/before` is of one.
    """
    group = _GROUPS.get(record["kind"])
    if group is None:
        return {}
    found = {"epoch": record["epoch"]}
    found |= {f"{group}/{name}": record.get(field) for field, name in _NAMES.items()}
    for layer, losses in enumerate(record.get("inner_losses") or (), start=1):
        found |= _ends(f"inner_loss/layer{layer}", losses)
    for layer, heads in enumerate(record.get("inner_losses_by_head") or (), start=1):
        for head, losses in enumerate(heads if len(heads) > 1 else (), start=1):
            found |= _ends(f"inner_loss/layer{layer}/head{head}", losses)
    return {name: value for name, value in found.items() if value is not None}


def _ends(name: str, losses: list[Any]) -> dict[str, Any]:
    return {f"{name}/before": losses[0], f"{name}/after": losses[-1]}
