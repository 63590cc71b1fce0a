"""Time and memory of one layer against the number of tokens: linear for parametric learners, quadratic for kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mttt.bench.layers import Contestant, Shape
from mttt.bench.measure import interleave, machine
from mttt.recipes.mixers import LinearAttentionRecipe, MixerRecipe, SelfAttentionRecipe
from mttt.recipes.ttt import KERNEL, MTTT_LINEAR, MTTT_MLP, MTTT_MLP_SGD4

LENGTHS = (1024, 2048, 4096, 8192)
DIM, HEADS = 64, 2
PARAMETRIC: dict[str, MixerRecipe] = {
    "linear-attention": LinearAttentionRecipe(),
    "mttt-linear": MTTT_LINEAR,
    "mttt-mlp": MTTT_MLP,
    "mttt-mlp-sgd4": MTTT_MLP_SGD4,
}
KERNELS: dict[str, MixerRecipe] = {"self-attention": SelfAttentionRecipe(), "gaussian-kernel": KERNEL}


def measure_lengths(
    lengths: tuple[int, ...] = LENGTHS,
    layers: dict[str, MixerRecipe] = PARAMETRIC | KERNELS,
    *,
    repeats: int = 5,
    say: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Milliseconds and temporary bytes of forward + backward at each length, and their slopes in log-log."""
    times: dict[str, list[float]] = {name: [] for name in layers}
    memory: dict[str, list[int]] = {name: [] for name in layers}
    for n in lengths:
        say(f"n = {n}")
        contestants = {name: Contestant(mixer.build(n), Shape(1, n, DIM, HEADS)) for name, mixer in layers.items()}
        measured = interleave({name: one.runs()[1] for name, one in contestants.items()}, repeats)
        for name, one in contestants.items():
            times[name].append(1e3 * min(measured[name]))
            memory[name].append(one.temp_bytes)
    return {
        "lengths": list(lengths),
        "dim": DIM,
        "heads": HEADS,
        "layers": {
            name: {
                "kind": "kernel" if name in KERNELS else "parametric",
                "step_ms": times[name],
                "temp_bytes": memory[name],
                "time_slope": slope(lengths, times[name]),
                "memory_slope": slope(lengths, memory[name]),
            }
            for name in layers
        },
        **machine(),
    }


def slope(lengths: tuple[int, ...], values: list[float] | list[int]) -> float:
    """The power of n that the values grow with: least squares in log-log."""
    return float(np.polyfit(np.log(lengths), np.log(values), 1)[0])
