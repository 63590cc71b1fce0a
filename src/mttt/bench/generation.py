"""How fast a language model writes after a short and after a long context: its state has a fixed size."""

import statistics
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import equinox as eqx
import jax
import numpy as np

from mttt.data.text import shakespeare, split_text
from mttt.models.writer import Likeliest, Writer
from mttt.recipes import PRESETS
from mttt.training import prepare_for

CONTEXTS = (100, 100_000)
WRITTEN = 200
MOST = 0.1


def generation_bench(
    *, repeats: int, contexts: tuple[int, int] = CONTEXTS, say: Callable[[str], None]
) -> dict[str, Any]:
    """Tokens a second after each context, medians of interleaved rounds. The weights are drawn, not trained."""
    recipe = PRESETS["shakespeare"].recipe
    data = split_text(shakespeare(), context=64)
    model = eqx.filter_jit(prepare_for(recipe, data.spec, len(data.train)).model)(jax.random.key(0))
    text = np.random.default_rng(0).integers(32, 127, max(contexts), np.uint8)
    streams = {}
    for length in contexts:
        say(f"generation: reading {length:,} bytes")
        writer = Writer(model)
        for _ in writer.read(text[:length]):
            pass
        streams[length] = writer.write(Likeliest(), key=jax.random.key(0))
        next(streams[length])  # compiles
    speeds: dict[int, list[float]] = {length: [] for length in contexts}
    for done in range(repeats):
        say(f"generation: round {done + 1} of {repeats}")
        for length, stream in streams.items():
            begin = time.perf_counter()
            for _ in islice(stream, WRITTEN):
                pass
            speeds[length].append(WRITTEN / (time.perf_counter() - begin))
    short, long = (statistics.median(speeds[length]) for length in contexts)
    return {
        "name": "generation",
        "about": f"shakespeare preset: tokens/s after {contexts[0]:,} and after {contexts[1]:,} tokens of context",
        "tokens": list(contexts),
        "tokens_per_second": [short, long],
        "difference": abs(long / short - 1),
        "targets": {"difference": MOST},
    }
