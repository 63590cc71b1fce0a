"""Recipes: what to train, as data; and the presets, which are recipes with names."""

from mttt.recipes.codec import decode as decode, encode as encode, recipe_of as recipe_of
from mttt.recipes.naming import (
    mixer_words as mixer_words,
    name_of as name_of,
    nearest_preset as nearest_preset,
    words_of as words_of,
)
from mttt.recipes.options import Option as Option, options as options
from mttt.recipes.presets import DEFAULT as DEFAULT, PRESETS as PRESETS, Preset as Preset
from mttt.recipes.read import read_recipe as read_recipe, stem_of as stem_of
from mttt.recipes.recipe import Recipe as Recipe
