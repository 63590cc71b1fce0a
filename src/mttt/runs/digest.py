"""A digest of what a checkpoint holds, so that a changed bit does not become a changed model."""

import hashlib
import json
from typing import Any

import jax
import numpy as np


def digest(arrays: dict[str, jax.Array], about: dict[str, Any]) -> str:
    """SHA-256 of arrays with their names, dtypes and shapes, and of what is known about them."""
    total = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        total.update(f"\n{name} {array.dtype} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return total.hexdigest()
