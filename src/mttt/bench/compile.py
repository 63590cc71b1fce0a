"""How long it takes to compile a training step: it should not depend on the number of blocks, or of inner steps."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from mttt.bench.measure import machine, without_compilation_cache
from mttt.bench.models import Step, Workload
from mttt.inner import FullBatch, MLPLearner
from mttt.mixers import TTT
from mttt.models import SMALL

DEPTHS = (2, SMALL.depth)
STEPS = (4, 16)


def compile_bench(*, repeats: int = 3, say: Callable[[str], None] = lambda words: None) -> dict[str, Any]:
    """Seconds from a traced ViT-Small MTTT-MLP step to its program, in interleaved rounds, without any cache."""
    names = {f"depth={depth} T={steps}": (depth, steps) for depth in DEPTHS for steps in STEPS}
    times: dict[str, list[float]] = {name: [] for name in names}
    with without_compilation_cache():
        for done in range(repeats):
            for name, (depth, steps) in names.items():
                say(f"round {done + 1} of {repeats}: ViT-Small, {name}")
                mixer = partial(TTT, learner=MLPLearner, batching=FullBatch(steps))
                lowered = Step(Workload(SMALL._replace(depth=depth), 224, 16, 1, False), mixer).lower()
                start = time.perf_counter()
                lowered.compile()
                times[name].append(time.perf_counter() - start)
    return {
        "compile_seconds": {name: min(seconds) for name, seconds in times.items()},
        "compile_seconds_median": {name: statistics.median(seconds) for name, seconds in times.items()},
        "repeats": repeats,
        **machine(),
    }
