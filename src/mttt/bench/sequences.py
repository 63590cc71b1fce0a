"""Learning while reading, against the plain forms of the same: times and memory as ratios inside one run."""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from mttt.bench.measure import interleave, machine, temp_bytes
from mttt.inner import (
    AffineLearner,
    Chunks,
    GatedRates,
    Keep,
    KeyValue,
    LinearLearner,
    MLPLearner,
    PlacedRates,
    Recompute,
    TokenwiseLearner,
    Undo,
    Zeros,
)
from mttt.mixers import CausalLinearAttention, CausalTTT, Mixer

WIDTH = 64  # of the tokens, and of the one head
_norm = partial(KeyValue, norm=True, residual=True)
_single = partial(CausalTTT, learner=MLPLearner, task=KeyValue, chunks=Chunks(1))
_delta = partial(
    CausalTTT, learner=LinearLearner, start=Zeros, task=partial(KeyValue, unit=True), rates=GatedRates, chunks=Chunks(1)
)


class Hidden(TokenwiseLearner):
    """A learner of which nothing is known but that it answers each token for itself: it learns in the plain form."""

    inside: Any
    expansion: float = eqx.field(static=True)

    def __init__(self, inside: Any):
        self.inside, self.expansion = inside, 1.0

    def __call__(self, inputs: Any, *, key: Any = None) -> Any:
        return self.inside(inputs, key=key)


def _hidden(make: Callable[..., Any]) -> Callable[..., Hidden]:
    return lambda width, *, key: Hidden(make(width, key=key))


class Duel(NamedTuple):
    """Two ways to compute the same, or something comparable, forward and backward."""

    about: str
    tokens: tuple[int, int]
    ours: Callable[..., Mixer]
    other: Callable[..., Mixer]
    targets: dict[str, float]
    """the most that ours may take, in parts of what the other takes"""


TTT_MLP = partial(CausalTTT, learner=MLPLearner, task=_norm, rates=partial(PlacedRates, size=16), chunks=Chunks(16))
DUELS: dict[str, Duel] = {
    "undo": Duel(
        "MLP learner, b = 1, undo against the gradient of a plain scan",
        (4096, 4096),
        partial(_single, adjoint=Undo()),
        partial(_single, learner=_hidden(MLPLearner), adjoint=Keep()),
        {"time": 0.3, "memory": 0.02},
    ),
    "ttt-mlp": Duel(
        "TTT-MLP, b = 16, dual form against the plain form with rematerialised chunks",
        (16_384, 16_384),
        TTT_MLP,
        partial(TTT_MLP, learner=_hidden(MLPLearner), adjoint=Recompute(block=16)),
        {"time": 0.5},
    ),
    "delta-rule": Duel(
        "delta rule, WY form against its recurrence",
        (4096, 4096),
        _delta,
        partial(_delta, learner=_hidden(LinearLearner), adjoint=Keep()),
        {"time": 0.1},
    ),
    "lengths": Duel(
        "TTT-MLP, b = 16, 65,536 tokens against 16,384",
        (65_536, 16_384),
        TTT_MLP,
        TTT_MLP,
        {"time": 4.2, "memory": 4.1},
    ),
    "ttt-linear": Duel(
        "TTT-Linear, b = 16, against causal linear attention in the same chunks",
        (16_384, 16_384),
        partial(CausalTTT, learner=AffineLearner, task=_norm, rates=partial(PlacedRates, size=16), chunks=Chunks(16)),
        partial(CausalLinearAttention, chunk=16),
        {"time": 3.0},
    ),
}


def gradient_of(make: Callable[..., Mixer], tokens: int, dim: int = WIDTH) -> tuple[Any, tuple[Any, ...]]:
    """The compiled gradient of a layer of one head by all its parameters and tokens, and its arguments."""
    layer = eqx.filter_jit(lambda key: make(dim, 1, key=key))(jax.random.key(0))
    arrays, rest = eqx.partition(layer, eqx.is_inexact_array)
    x = jax.random.normal(jax.random.key(1), (tokens, dim))
    weights = jax.random.normal(jax.random.key(2), (tokens, dim))

    def loss(arrays: Any, x: Any, weights: Any) -> Any:
        return jnp.vdot(weights, eqx.combine(arrays, rest)(x).tokens)

    arguments = (arrays, x, weights)
    return jax.jit(jax.grad(loss, argnums=(0, 1))).lower(*arguments).compile(), arguments


def sequences_bench(names: list[str], *, repeats: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """A row for each duel: milliseconds (medians of interleaved rounds), MiB of buffers, ratios, targets."""
    rows = []
    for name in names:
        duel = DUELS[name]
        say(f"{name}: compiling")
        pair = {
            who: gradient_of(make, n)
            for who, make, n in (("ours", duel.ours, duel.tokens[0]), ("other", duel.other, duel.tokens[1]))
        }
        runs = {who: partial(compiled, *arguments) for who, (compiled, arguments) in pair.items()}
        times = interleave(runs, repeats, lambda done, name=name: say(f"{name}: round {done} of {repeats}"))
        rows.append(_row(name, duel, times, {who: temp_bytes(compiled) for who, (compiled, _) in pair.items()}))
        jax.clear_caches()
    return rows


def _row(name: str, duel: Duel, times: dict[str, list[float]], memory: dict[str, int]) -> dict[str, Any]:
    median = {who: statistics.median(each) for who, each in times.items()}
    return {
        "name": name,
        "about": duel.about,
        "tokens": list(duel.tokens),
        "milliseconds": {who: 1e3 * seconds for who, seconds in median.items()},
        "mebibytes": {who: size / 2**20 for who, size in memory.items()},
        "time": median["ours"] / median["other"],
        "memory": memory["ours"] / memory["other"],
        "targets": duel.targets,
    }


def sequences_json(rows: list[dict[str, Any]], repeats: int) -> dict[str, Any]:
    """Everything, for programs."""
    return {"rows": rows, "width": WIDTH, "repeats": repeats, **machine()}
