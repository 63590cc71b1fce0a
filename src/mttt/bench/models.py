"""A whole training step of a ViT: time, buffers, resident memory."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mttt.bench.layers import LAYERS
from mttt.bench.measure import (
    Measurements,
    Timing,
    interleave,
    milliseconds,
    peak_flops,
    peak_run,
    resident_bytes,
    temp_bytes,
)
from mttt.data import Batch, Spec
from mttt.devices import Placement
from mttt.mixers import SelfAttention
from mttt.models import SMALL, TINY, LearnedPositions, MakeMixer, SinCosPositions, Size, ViT
from mttt.outer import train_step
from mttt.recipes import Recipe
from mttt.recipes.outer import AdamRecipe, ExactRecipe
from mttt.training import prepare_for


class Workload(NamedTuple):
    """A ViT and a batch of images for it. `remat` recomputes each block in the backward pass."""

    size: Size
    side: int
    patch: int
    batch: int
    remat: bool

    @property
    def tokens(self) -> int:
        return (self.side // self.patch) ** 2


MODELS = {
    "patches": Workload(SMALL, 224, 16, 8, False),
    "pixels": Workload(TINY, 112, 1, 1, True),
    "raw": Workload(TINY, 224, 1, 1, True),
}
CLASSES = 1000


class Step:
    """A training step, to be compiled and run."""

    def __init__(
        self, workload: Workload, mixer: MakeMixer, *, accumulate: int = 1, placement: Placement | None = None
    ):
        self.workload = w = workload
        shape = (w.side, w.side, 3)
        spec = Spec(jax.ShapeDtypeStruct(shape, np.uint8), tuple(map(str, range(CLASSES))))
        recipe = Recipe(optimizer=AdamRecipe(bfloat16_moment=True), batch_size=w.batch, outer=ExactRecipe(accumulate))
        make = partial(
            ViT,
            shape,
            CLASSES,
            size=w.size,
            patch=w.patch,
            mixer=mixer,
            positions=LearnedPositions if w.patch == 1 else SinCosPositions,
            remat=w.remat,
        )
        # Layers that are only here to be compared with have no recipe.
        self._prepared = replace(
            prepare_for(recipe, spec, w.batch), model=lambda key: make(key=key), placement=placement
        )

    def batch(self) -> Batch:
        """Images of noise."""
        m = self.workload
        images = np.random.default_rng(0).integers(0, 256, (m.batch, m.side, m.side, 3), np.uint8)
        return Batch(images, np.zeros(m.batch, np.int32), np.ones(m.batch, np.float32))

    def shapes(self) -> Batch:
        """Shapes of a batch, where its rows are."""
        w, placement = self.workload, self._prepared.placement
        shape = partial(jax.ShapeDtypeStruct, sharding=None if placement is None else placement.rows())
        images = shape((w.batch, w.side, w.side, 3), np.uint8)
        return Batch(images, shape((w.batch,), np.int32), shape((w.batch,), np.float32))  # pyright: ignore[reportArgumentType]

    def lower(self) -> Any:
        """The program, with the state's memory reused."""
        placement = self._prepared.placement
        with nullcontext() if placement is None else placement():
            return self._prepared.program().lower(self.shapes())

    def count(self, counter: Callable[..., Any]) -> Any:
        """What `counter(function, *arguments)` says of the step."""
        state, rest = eqx.partition(self._prepared.shapes(), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
        objective, rule = self._prepared.objective, self._prepared.rule

        def step(arrays: Any, batch: Any) -> Any:
            return eqx.filter(
                train_step(eqx.combine(arrays, rest), batch, objective=objective, rule=rule), eqx.is_array
            )

        return counter(step, state, self.shapes())

    def runner(self, compiled: Any) -> Callable[[], Any]:
        """Step after step from the same images."""
        state = [eqx.filter(self._prepared.state(), eqx.is_array)]
        batch = jax.tree.map(jnp.asarray, self.batch())

        def run() -> Any:
            state[0], _ = compiled(state[0], batch)
            return state[0]

        return run


def attention_bytes(workload: Workload) -> int:
    """What self-attention's step would need besides the state, by XLA's account; it is compiled, not run."""
    return temp_bytes(Step(workload, SelfAttention).lower().compile())


def models_bench(
    shapes: list[str], layers: list[str], *, repeats: int = 3, say: Callable[[str], None] = lambda words: None
) -> Measurements:
    """Measure training steps. `resident_bytes` of the report is the most that this process has had."""
    rows, peaks, attention = [], [], {}
    for name in shapes:
        workload = MODELS[name]
        runs: dict[Any, Callable[[], Any]] = {"peak": peak_run()}
        for layer in layers:
            say(f"{name}: compiling a step with {layer}")
            step = Step(workload, LAYERS[layer])
            compiled = step.lower().compile()
            rows.append(Timing(layer, name, workload.batch * workload.tokens, temp_bytes=temp_bytes(compiled)))
            runs[layer] = step.runner(compiled)
        say(f"{name}: running")
        times = interleave(runs, repeats, lambda done, name=name: say(f"{name}: round {done} of {repeats}"))
        peaks += times["peak"]
        for row in rows:
            if row.shape == name:
                row.step_ms, row.step_median_ms = milliseconds(times[row.layer])
    resident = resident_bytes()
    for name in shapes:
        say(f"{name}: compiling a step with self-attention, for its memory")
        attention[name] = attention_bytes(MODELS[name])
    return Measurements(
        rows, peak_flops(peaks), repeats, {"resident_bytes": resident, "self_attention_temp_bytes": attention}
    )
