"""Recipes of causal mixers."""

from typing import get_args

import jax
import pytest

import mttt
from mttt.fields import FieldError
from mttt.recipes.causal import (
    CausalHyenaRecipe,
    CausalLinearAttentionRecipe,
    CausalMixerRecipe,
    CausalSelfAttentionRecipe,
    SlidingWindowRecipe,
)


@pytest.mark.parametrize("recipe", get_args(CausalMixerRecipe), ids=lambda recipe: recipe.kind)
def test_every_kind_builds_a_causal_mixer(recipe):
    make = recipe().build(7)
    mixer = jax.eval_shape(lambda: make(12, 2, key=jax.random.key(0)))
    assert isinstance(mixer, mttt.CausalMixer)


def test_fields_arrive():
    def built(recipe, tokens=7):
        return jax.eval_shape(lambda: recipe.build(tokens)(12, 2, key=jax.random.key(0)))

    assert built(CausalSelfAttentionRecipe(rotary=0.0)).positions is None
    assert built(SlidingWindowRecipe(window=5, rotary=50.0)).positions.base == 50
    assert built(SlidingWindowRecipe(window=5)).window == 5
    assert built(CausalLinearAttentionRecipe()).divisor == 6
    assert built(CausalLinearAttentionRecipe(normalisation="paper")).divisor == 1
    assert built(CausalHyenaRecipe()).context == 7
    assert built(CausalHyenaRecipe(context=3)).context == 3


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: SlidingWindowRecipe(window=1), "window"),
        (lambda: SlidingWindowRecipe(window=2**30), "window"),
        (lambda: CausalLinearAttentionRecipe(chunk=0), "chunk"),
        (lambda: CausalSelfAttentionRecipe(rotary=-1.0), "rotary"),
        (lambda: CausalSelfAttentionRecipe(rotary=float("nan")), "rotary"),
        (lambda: CausalHyenaRecipe(context=1), "context"),
    ],
)
def test_impossible_numbers_are_refused_by_name(make, field):
    with pytest.raises(FieldError, match=field):
        make()
