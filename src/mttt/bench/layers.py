"""One layer, forward and training step (forward + backward): time, FLOPs and memory of several layers side by side."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax

from mttt.bench.measure import (
    Measurements,
    Timing,
    available_bytes,
    interleave,
    milliseconds,
    peak_flops,
    peak_run,
    temp_bytes,
)
from mttt.bench.naive import NaiveTTT
from mttt.count import Flops, flops, shapes_of
from mttt.inner import FullBatch, LinearLearner, MiniBatches, MLPLearner, Recompute, Reconstruction, Zeros
from mttt.mixers import TTT, LinearAttention, Mixer, SelfAttention


class Shape(NamedTuple):
    """A batch of inputs, and the heads."""

    batch: int
    tokens: int
    dim: int
    heads: int


SHAPES = {"patches": Shape(8, 196, 384, 6), "pixels": Shape(1, 12_544, 192, 3)}
LENGTHS = (196, 784, 3136, 12_544)  # 224×224 images in patches of 16, 8, 4 and 2


def at_length(n: int) -> tuple[str, Shape]:
    """One input of n tokens for the layers of ViT-Tiny."""
    return f"n={n}", Shape(1, n, 192, 3)


Make = Callable[..., Mixer]

_linear = partial(TTT, learner=LinearLearner, start=Zeros, task=partial(Reconstruction, decoder_norm=False))
_mlp = partial(TTT, learner=MLPLearner)


def _naive(make: Callable[..., TTT]) -> Make:
    return lambda dim, heads, *, key: NaiveTTT(make(dim, heads, key=key))


LAYERS: dict[str, Make] = {
    "linear-attention": LinearAttention,
    "mttt-linear": _linear,
    "mttt-mlp": _mlp,
    "mttt-mlp-t4": partial(_mlp, batching=FullBatch(4)),
    "mttt-mlp-sgd4": partial(_mlp, batching=MiniBatches(4)),
    "naive-mttt-linear": _naive(_linear),
    "naive-mttt-mlp": _naive(_mlp),
    "naive-mttt-mlp-t4": _naive(partial(_mlp, batching=FullBatch(4))),
    "self-attention": SelfAttention,
}
# What each layer is compared with besides linear attention.
NAIVE = {
    "mttt-linear": "naive-mttt-linear",
    "mttt-mlp": "naive-mttt-mlp",
    "mttt-mlp-t4": "naive-mttt-mlp-t4",
    "mttt-mlp-sgd4": "naive-mttt-mlp",
}
SPARE = 1.1  # a program needs a little more than its own buffers


class Contestant:
    """A layer at a shape: what it needs, and how to run it."""

    def __init__(self, make: Make, shape: Shape):
        layer = eqx.filter_jit(lambda key: make(shape.dim, shape.heads, key=key))(jax.random.key(0))
        arrays, rest = eqx.partition(layer, eqx.is_inexact_array)
        key, other = jax.random.split(jax.random.key(1))
        draw = jax.jit(partial(jax.random.normal, shape=(shape.batch, shape.tokens, shape.dim)))
        x, cotangent = draw(key), draw(other)

        def forward(arrays: Any, x: Any) -> Any:
            mixer = eqx.combine(arrays, rest)
            return jax.vmap(lambda one: mixer(one, key=key).tokens)(x)

        def step(arrays: Any, x: Any, cotangent: Any) -> Any:
            """The output, and the gradient in parameters and tokens."""
            out, pull = jax.vjp(forward, arrays, x)
            return out, pull(cotangent)

        self._forward, self._step = (forward, (arrays, x)), (step, (arrays, x, cotangent))
        self._compiled = self._compile(*self._forward), self._compile(*self._step)
        self.forward_temp_bytes, self.temp_bytes = map(temp_bytes, self._compiled)

    @staticmethod
    def _compile(function: Callable, arguments: tuple) -> Any:
        return jax.jit(function).lower(*shapes_of(arguments)).compile()

    def flops(self) -> tuple[Flops, Flops]:
        """Forward and step."""
        (forward, fewer), (step, all_) = self._forward, self._step
        return flops(forward, *fewer), flops(step, *all_)

    def runs(self) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """Forward and step."""
        forward, step = self._compiled
        return lambda: forward(*self._forward[1]), lambda: step(*self._step[1])


def layers_bench(
    shapes: dict[str, Shape],
    layers: list[str],
    *,
    repeats: int = 5,
    block: int | None = None,
    say: Callable[[str], None] = lambda words: None,
) -> Measurements:
    """Measure each layer at each shape. `block` is for the MTTT-MLP layers: tokens at a time.

    What needs more memory than there is, is not run: its row has `temp_bytes` and no times.
    """
    rows, peaks = [], []
    room = available_bytes()  # before the first run: what one program frees, the next one uses again
    for name, shape in shapes.items():
        contestants = {}
        for layer in layers:
            say(f"{name}: compiling {layer}")
            small = {"adjoint": Recompute(block)} if block is not None and layer.startswith("mttt-mlp") else {}
            contestants[layer] = Contestant(partial(LAYERS[layer], **small), shape)
        found, peak = _at_shape(name, shape, contestants, repeats, room, say)
        rows += found
        peaks += peak
    measurements = Measurements(rows, peak_flops(peaks), repeats, {"block": block})
    for row in rows:
        if row.step_ms and row.step_flops:
            row.fraction_of_peak = row.step_flops / (row.step_ms / 1e3) / measurements.matmul_peak_flops
        row.against_self_attention = measurements.ratios(row, "self-attention")
        row.against_linear_attention = measurements.ratios(row, "linear-attention")
        row.against_naive = measurements.ratios(row, NAIVE.get(row.layer, ""))
    return measurements


def _at_shape(
    name: str,
    shape: Shape,
    contestants: dict[str, Contestant],
    repeats: int,
    room: int | None,
    say: Callable[[str], None],
) -> tuple[list[Timing], list[float]]:
    """All layers at one shape, in turn; and the seconds of the matmul between them."""
    runs: dict[Any, Callable[[], Any]] = {"peak": peak_run()}
    for layer, one in contestants.items():
        forward, step = one.runs()
        for which, run, needed in (("forward", forward, one.forward_temp_bytes), ("step", step, one.temp_bytes)):
            if room is None or SPARE * needed < room:
                runs[layer, which] = run
    say(f"{name}: running")
    times = interleave(runs, repeats, lambda done: say(f"{name}: round {done} of {repeats}"))
    rows = []
    for layer, one in contestants.items():
        say(f"{name}: counting FLOPs of {layer}")
        row = Timing(layer, name, shape.batch * shape.tokens, temp_bytes=one.temp_bytes)
        row.forward_temp_bytes = one.forward_temp_bytes
        if (layer, "forward") in times:
            row.forward_ms, row.forward_median_ms = milliseconds(times[layer, "forward"])
        if (layer, "step") in times:
            row.step_ms, row.step_median_ms = milliseconds(times[layer, "step"])
        forward, step = one.flops()
        row.forward_flops, row.step_flops, row.step_flops_executed = forward.useful, step.useful, step.executed
        rows.append(row)
    return rows, times["peak"]
