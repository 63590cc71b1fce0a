"""The newest answers, as many as a part of the memory has room for."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

import jax

T = TypeVar("T")
ROOM = 2**28
"""bytes; the newest is kept in any case"""
MOST = 32


class Recent(Generic[T]):
    """Values by keys; what was used longest ago goes first."""

    def __init__(self, room: int = ROOM):
        self._room = room
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        """The value, if it is still there."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def put(self, key: Hashable, value: T) -> T:
        """Keep one more."""
        self._values[key] = value, sum(getattr(leaf, "nbytes", 0) for leaf in jax.tree.leaves(value))
        while len(self._values) > 1 and (self._bytes() > self._room or len(self._values) > MOST):
            self._values.popitem(last=False)
        return value

    def _bytes(self) -> int:
        return sum(size for _, size in self._values.values())
