"""Numbers on their way to the page. Large arrays are packed; what is not finite is null in the others."""

import base64
import math
from typing import Any

import numpy as np


def base64_of(array: np.ndarray) -> str:
    """The bytes of an array, row by row."""
    return base64.b64encode(array.tobytes()).decode("ascii")


def packed(array: Any) -> dict[str, Any]:
    """An array of any shape as its float32 bytes, little endian."""
    values = np.ascontiguousarray(np.asarray(array), "<f4")
    return {"shape": list(values.shape), "float32": base64_of(values)}


def unpacked(value: dict[str, Any]) -> np.ndarray:
    """The array that `packed` wrote."""
    return np.frombuffer(base64.b64decode(value["float32"]), "<f4").reshape(value["shape"])


def plain(array: Any, digits: int = 7) -> Any:
    """An array as nested lists of numbers; JSON has no NaN and no infinity."""
    return _plain(np.asarray(array, np.float64).tolist(), digits)


def _plain(value: Any, digits: int) -> Any:
    if isinstance(value, list):
        return [_plain(one, digits) for one in value]
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None
