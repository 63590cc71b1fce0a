"""How many pictures a second one core decodes and augments."""

import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from mttt.data.augment import Transform, apply
from mttt.data.picture import open_picture


def pictures_per_second(
    paths: Sequence[Path], transforms: Sequence[Transform], shape: tuple[int, int, int], *, seconds: float
) -> float:
    """From file to array, one picture after the other in this thread, over and over for about that long."""
    if not paths:
        raise ValueError("no pictures were given")
    rng = np.random.default_rng(0)
    for path in paths[:8]:  # imports of Pillow's readers and such
        apply(transforms, open_picture(path, str(path)), rng, shape=shape, name=str(path))
    done, start, passed = 0, time.perf_counter(), 0.0
    for path in cycle(paths):
        apply(transforms, open_picture(path, str(path)), rng, shape=shape, name=str(path))
        done, passed = done + 1, time.perf_counter() - start
        if passed >= seconds:
            break
    return done / passed
