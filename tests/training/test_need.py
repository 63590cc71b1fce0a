"""A training that needs more memory than there is is refused, and none that could run."""

import re
from dataclasses import replace

import jax
import numpy as np
import pytest

from mttt.data import Batch, Spec
from mttt.devices import Placement, placement_of
from mttt.recipes import PRESETS
from mttt.recipes.mixers import SelfAttentionRecipe
from mttt.recipes.outer import EvolutionRecipe, ExactRecipe
from mttt.training import need, prepare_for
from mttt.training.need import Need, NotEnoughMemory

DIGITS = PRESETS["digits"].recipe
BASE = replace(DIGITS, model=replace(DIGITS.model, dim=16, depth=3, patch=2, mixer=SelfAttentionRecipe()))


@pytest.fixture(autouse=True)
def promotion():
    """Optax promotes dtypes implicitly."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def prepared(recipe, side=8, channels=1):
    return prepare_for(recipe, Spec(jax.ShapeDtypeStruct((side, side, channels), np.uint8), ("a", "b")), 10**6)


def least(recipe, monkeypatch, limit=1):
    """The memory that is found to be needed, where there is next to none."""
    monkeypatch.setattr(need, "memory_limit", lambda: limit)
    return max(one.bytes for one in prepared(recipe).needs(recipe.batch_size // recipe.outer.parts))


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({}, 0.7),
        ({"model": replace(BASE.model, mixer=DIGITS.model.mixer, depth=2)}, 0.7),
        ({"model": replace(BASE.model, remat=True, positions="sincos"), "outer": ExactRecipe(4)}, 0.05),
    ],
    ids=["attention", "mttt-mlp", "remat"],
)
def test_it_is_less_than_what_the_compiler_takes(changes, share, monkeypatch):
    recipe = replace(BASE, **changes)
    size = recipe.batch_size
    shapes = (((size, 8, 8, 1), np.uint8), ((size,), np.int32), ((size,), np.float32))
    batch = Batch(*(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes))
    taken = prepared(recipe).program().lower(batch).compile().memory_analysis()
    taken = taken.argument_size_in_bytes + taken.temp_size_in_bytes
    assert share * taken < least(recipe, monkeypatch) <= taken


@pytest.mark.parametrize(
    ("changes", "side", "part"),
    [
        ({"dim": 2**17, "heads": 2**10}, 8, "parameters"),
        ({"depth": 2**12}, 8, "activations"),
        ({"patch": 1}, 80_000, "activations"),
        ({"patch": 1, "positions": "sincos", "dim": 4, "heads": 1, "depth": 1}, 80_000, "activations"),
        ({"patch": 1, "depth": 1}, 224, "activations"),  # n² numbers
    ],
)
def test_what_is_too_large_is_refused_with_both_figures(changes, side, part, monkeypatch):
    monkeypatch.setattr(need, "memory_limit", lambda: 2**30)
    recipe = replace(BASE, model=replace(BASE.model, **changes))
    with pytest.raises(NotEnoughMemory, match=r"at least [\d.]+ \wiB of memory .* there are 1 GiB") as refused:
        prepared(recipe, side).check()
    assert re.search(rf"{part} [\d.]+ \wiB", str(refused.value))
    assert "parameters" in str(refused.value)


def test_a_batch_that_fits_in_parts_is_told_so(monkeypatch):
    """The paper's batch of 1024 on a machine of 16 GiB."""
    recipe = PRESETS["imagenet-patches"].recipe
    monkeypatch.setattr(need, "memory_limit", lambda: 2**34)
    with pytest.raises(NotEnoughMemory, match=r"16 GiB; with outer.accumulate=\d+ it takes at least") as refused:
        prepared(recipe, 224, 3).check()
    parts = refused.value.cure["outer.accumulate"]
    assert refused.value.sentence(lambda path, value: f"--{path} {value}").count(f"--outer.accumulate {parts} ") == 1
    prepared(replace(recipe, outer=ExactRecipe(parts)), 224, 3).check()
    monkeypatch.setattr(need, "memory_limit", lambda: 2**28)
    with pytest.raises(NotEnoughMemory, match="smaller dim or depth"):
        prepared(recipe, 224, 3).check()


def test_an_evaluation_is_checked_too(monkeypatch):
    """Of a model that is there: only its activations can be too large."""
    here = prepared(replace(BASE, model=replace(BASE.model, depth=1, patch=1)))
    model = here.shapes().model
    here.check_evaluation(model, 128)
    monkeypatch.setattr(need, "memory_limit", lambda: 2**30)
    with pytest.raises(NotEnoughMemory, match="activations"):
        here.check_evaluation(model, 2**20)


def test_without_a_backward_pass_nothing_is_kept(monkeypatch):
    deep = replace(BASE, model=replace(BASE.model, depth=64))
    assert least(replace(deep, outer=EvolutionRecipe()), monkeypatch) < least(deep, monkeypatch) / 5


def test_where_nobody_knows_how_much_there_is_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(need, "memory_limit", lambda: None)
    Need(10**30).check()
    assert Need(1, 2, 3, 4).bytes == 7


class Eighth(Placement):
    """One of eight devices."""

    def memory_share(self):
        return 1 / 8


def test_devices_with_memory_of_their_own_have_a_part_each():
    """Of activations; of parameters and optimizer state, if they are split too."""
    whole = next(prepared(BASE).needs(32))
    for sharded in (False, True):
        part = next(replace(prepared(BASE), placement=Eighth(placement_of().mesh, sharded)).needs(32))
        assert part.activations == whole.activations // 8
        assert part.parameters == (whole.parameters // 8 if sharded else whole.parameters)
        assert part.optimizer == (whole.optimizer // 8 if sharded else whole.optimizer)
