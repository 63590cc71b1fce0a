"""A training that begins with the weights of another model."""

from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest

from mttt.cli.opening import _check_learned_rate
from mttt.data import Spec
from mttt.fields import FieldError
from mttt.recipes import PRESETS
from mttt.recipes.inner import FullBatchRecipe
from mttt.recipes.inner_optimizers import FixedRateRecipe, LearnedRateRecipe
from mttt.recipes.mixers import LinearAttentionRecipe
from mttt.training import DoesNotFit, Loaded, begin_from, prepare_for

DIGITS = PRESETS["digits"].recipe
RECIPE = replace(DIGITS, model=replace(DIGITS.model, dim=8, depth=1, patch=4))
SPEC = Spec(jax.ShapeDtypeStruct((8, 8, 1), np.uint8), ("a", "b", "c"))


def with_mixer(recipe, **changes):
    return replace(recipe, model=replace(recipe.model, mixer=replace(recipe.model.mixer, **changes)))


@pytest.fixture(scope="module")
def source():
    """A model that is not the one that the recipe draws: each array is a number of its own."""
    prepared = prepare_for(RECIPE, SPEC, 100)
    numbers = iter(range(100))
    model = jax.tree.map(lambda a: a * 0 + next(numbers) if eqx.is_array(a) else a, prepared.state().model)
    return Loaded(model, 7, prepared)


def test_another_number_of_inner_steps_and_another_rate_take_all_weights(source):
    recipe = with_mixer(RECIPE, batching=FullBatchRecipe(3), optimizer=FixedRateRecipe(0.5))
    state, taken, drawn = begin_from(prepare_for(recipe, SPEC, 50), source)
    assert drawn == () and len(taken) > 20
    ours, theirs = (jax.tree.leaves(eqx.filter(model, eqx.is_array)) for model in (state.model, source.model))
    assert all(np.array_equal(one, other) for one, other in zip(ours, theirs, strict=True))
    assert int(state.step) == 0 and state.model.stack.blocks.mixer.batching.steps == 3


@pytest.mark.parametrize("classes", [("x", "y", "z"), ("a", "b")])
def test_other_classes_get_a_map_of_their_own(source, classes):
    prepared = prepare_for(RECIPE, Spec(SPEC.inputs, classes), 50)
    state, taken, drawn = begin_from(prepared, source)
    assert drawn == (".head.logits.weight", ".head.logits.bias")
    assert ".head.pre_logits.weight" in taken
    np.testing.assert_array_equal(state.model.head.logits.weight, prepared.state().model.head.logits.weight)
    np.testing.assert_array_equal(state.model.norm.scale, source.model.norm.scale)


def test_what_does_not_fit_is_listed(source):
    with pytest.raises(DoesNotFit, match=r"\.mixer\.optimizer\.rate: none there, 1×2 here"):
        begin_from(prepare_for(with_mixer(RECIPE, optimizer=LearnedRateRecipe()), SPEC, 50), source)
    attention = replace(RECIPE, model=replace(RECIPE.model, mixer=LinearAttentionRecipe()))
    with pytest.raises(DoesNotFit, match="there, none here") as refused:
        begin_from(prepare_for(attention, SPEC, 50), source)
    assert str(refused.value).count("\n") <= 13


def test_where_learning_a_rate_began_changes_nothing_once_it_is_learned(source):
    learned = with_mixer(RECIPE, optimizer=LearnedRateRecipe(1.0))
    before = replace(source, prepared=prepare_for(learned, SPEC, 50))
    _check_learned_rate(with_mixer(RECIPE, optimizer=LearnedRateRecipe(1.0, per_step=True)), before)
    with pytest.raises(
        FieldError, match=r"model\.mixer\.optimizer\.start=3.0: the rates that the other run has learned"
    ):
        _check_learned_rate(with_mixer(RECIPE, optimizer=LearnedRateRecipe(3.0)), before)
