"""Nothing is for CPUs only: every kind of preset has a step that lowers for other platforms, without having them."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.export
import numpy as np
import pytest

from mttt.data import Batch, Spec
from mttt.outer import train_step
from mttt.recipes import PRESETS
from mttt.training import prepare_for

PLATFORMS = ("cuda", "rocm", "tpu")
SIDES = {"digits": (8, 1), "fashion": (28, 1), "cifar10": (32, 3), "folder": (64, 3), "imagenet": (224, 3)}


def kind(name):
    """Presets of one kind differ in data, patches and lengths of training: they have the same program up to shapes."""
    recipe = PRESETS[name].recipe
    model = replace(recipe.model, **({"patch": 1} if hasattr(recipe.model, "patch") else {}))
    return repr((model, recipe.optimizer, recipe.outer, recipe.mixup))


KINDS = {kind(name): name for name in PRESETS}


def inputs(name):
    """The shape of an example."""
    data = PRESETS[name].recipe.data
    if hasattr(data, "context"):  # a text
        return (data.context + 1,)
    side, channels = SIDES[name.split("-")[0]]
    size = getattr(data, "size", None) or side
    return (size, size, channels)


@pytest.mark.parametrize("name", KINDS.values())
def test_a_training_step_lowers_for_accelerators(name):
    recipe = replace(PRESETS[name].recipe, dtype="bfloat16")
    spec = Spec(jax.ShapeDtypeStruct(inputs(name), np.uint8), tuple(map(str, range(10))))
    prepared = prepare_for(recipe, spec, 10_000)
    arrays, rest = eqx.partition(prepared.shapes(), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    rows = recipe.batch_size
    shape = jax.ShapeDtypeStruct
    batch = Batch(shape((rows, *inputs(name)), np.uint8), shape((rows,), np.int32), shape((rows,), np.float32))

    def step(arrays, batch):
        state = eqx.combine(arrays, rest)
        return eqx.filter(train_step(state, batch, objective=prepared.objective, rule=prepared.rule), eqx.is_array)

    with jax.numpy_dtype_promotion("standard"):  # Optax promotes implicitly
        exported = jax.export.export(jax.jit(step), platforms=PLATFORMS)(arrays, batch)
    assert exported.platforms == PLATFORMS
    assert "stablehlo" in exported.mlir_module()
