"""The contract between data and the outer loop."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, PyTree, Shaped

ArrayLike = np.ndarray | Array


class Batch(NamedTuple):
    """Inputs as they are stored, labels, and weights: 1, or 0 for a row that only fills the batch up.

    Every array has one row for each example; inputs may be one array or a pytree of them.
    """

    inputs: PyTree[Shaped[ArrayLike, "b ..."]]
    labels: Int[ArrayLike, " b"]
    weights: Float[ArrayLike, " b"]
