"""What one small layer costs before its first gradient: building it, tracing, lowering and compiling."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mttt.bench.layers import LAYERS, Make, Shape
from mttt.bench.measure import machine, without_compilation_cache

SHAPE = Shape(1, 256, 64, 4)
CONTESTANTS = ("self-attention", "linear-attention", "mttt-linear", "mttt-mlp")
STAGES = ("build", "trace", "lower", "compile")


def gradients_bench(*, repeats: int = 3, say: Callable[[str], None] = lambda words: None) -> dict[str, Any]:
    """Wall and processor seconds of each stage, in interleaved rounds, without any cache; medians over the rounds.

    One round more is run first and does not count: in it Python imports what is imported late.
    """
    rounds: dict[str, list[dict[str, tuple[float, float]]]] = {name: [] for name in CONTESTANTS}
    with without_compilation_cache():
        for done in range(repeats + 1):
            for name in CONTESTANTS:
                say(f"round {done} of {repeats}: {name}" if done else f"warming up: {name}")
                seconds = _stages(LAYERS[name], SHAPE)
                if done:
                    rounds[name].append(seconds)
    rows = []
    for name, each in rounds.items():
        wall = {stage: statistics.median(seconds[stage][0] for seconds in each) for stage in STAGES}
        processor = {stage: statistics.median(seconds[stage][1] for seconds in each) for stage in STAGES}
        for found in (wall, processor):
            found["gradient"] = sum(found[stage] for stage in STAGES if stage != "build")
        rows.append({"layer": name, "wall_seconds": wall, "processor_seconds": processor})
    return {"rows": rows, "shape": SHAPE._asdict(), "repeats": repeats, **machine()}


def _stages(make: Make, shape: Shape) -> dict[str, tuple[float, float]]:
    """Wall and processor seconds of each stage; the processor's are those of all threads together."""
    jax.clear_caches()
    key = jax.random.key(0)
    x = jnp.zeros((shape.tokens, shape.dim))
    marks = [_now()]
    layer = make(shape.dim, shape.heads, key=key)
    jax.block_until_ready(eqx.filter(layer, eqx.is_array))
    marks.append(_now())
    arrays, rest = eqx.partition(layer, eqx.is_inexact_array)

    def loss(arrays: Any, x: Any) -> Any:
        return jnp.sum(eqx.combine(arrays, rest)(x, key=key).tokens ** 2)

    traced = jax.jit(jax.grad(loss, argnums=(0, 1))).trace(arrays, x)
    marks.append(_now())
    lowered = traced.lower()
    marks.append(_now())
    lowered.compile()
    marks.append(_now())
    pairs = zip(STAGES, marks, marks[1:], strict=False)
    return {stage: (after[0] - before[0], after[1] - before[1]) for stage, before, after in pairs}


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()
