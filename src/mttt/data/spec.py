"""What a model has to know of its data: enough to build it where the data are not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True)
class Spec:
    """The shape and stored dtype of one example's input, and what the labels mean."""

    inputs: Any
    """a `jax.ShapeDtypeStruct`; for inputs of several arrays, a dict of them"""
    classes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, for the record of a run."""
        return {"inputs": _to_json(self.inputs), "classes": list(self.classes)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Spec":
        """The spec that `to_json` wrote."""
        return cls(_from_json(record["inputs"]), tuple(record["classes"]))


def _to_json(inputs: Any) -> dict[str, Any]:
    if isinstance(inputs, jax.ShapeDtypeStruct):
        return {"shape": list(inputs.shape), "dtype": inputs.dtype.name}
    if isinstance(inputs, dict):
        return {name: _to_json(part) for name, part in inputs.items()}
    raise TypeError(f"inputs are described by a jax.ShapeDtypeStruct or a dict of them, not by {inputs!r}")


def _from_json(record: Mapping[str, Any]) -> Any:
    if isinstance(record.get("shape"), list):  # an input that is called "shape" has a dict there
        return jax.ShapeDtypeStruct(tuple(record["shape"]), record["dtype"])
    return {name: _from_json(part) for name, part in record.items()}
