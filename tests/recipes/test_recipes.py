"""Recipes: from the command line, to JSON and back, and to things that run."""

import json

import pytest

from mttt.cli import train
from mttt.cli.arguments import UsageError
from mttt.recipes import MIXERS, PRESETS, UNIONS, decode, differences, encode


@pytest.mark.parametrize("mixer", MIXERS)
def test_every_mixer_of_the_command_line_builds_and_survives_json(mixer):
    _, arguments = train.parse(["digits", "--model.mixer", mixer, "--model.size", "micro-s", "--seed", "3"])
    recipe = arguments.recipe
    assert type(recipe.model.mixer) is MIXERS[mixer]
    assert decode(json.loads(json.dumps(encode(recipe)))) == recipe
    recipe.check(recipe.data.load())


@pytest.mark.parametrize("optimizer", UNIONS["model.mixer.optimizer"])
@pytest.mark.parametrize("batching", ["full", "mini"])
def test_every_inner_optimizer_of_the_command_line_builds(optimizer, batching):
    words = f"--model.mixer.optimizer {optimizer} --model.mixer.batching {batching} --model.mixer.steps 3"
    recipe = train.parse(["--model.mixer", "mttt-mlp", *words.split()])[1].recipe
    assert decode(encode(recipe)) == recipe
    recipe.check(recipe.data.load())


def test_recipes_that_do_not_fit_are_refused():
    good = encode(PRESETS["digits"].recipe)
    with pytest.raises(ValueError, match="unknown field colour"):
        decode(good | {"colour": 1})
    with pytest.raises(ValueError, match="unknown kind 'mnist'"):
        decode(good | {"data": {"kind": "mnist"}})
    assert differences(good, good | {"seed": 4}) == ["seed: 0 there, 4 asked for"]
    with pytest.raises(UsageError, match="unknown preset"):
        train.parse(["nothing"])


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_can_run(preset):
    recipe = PRESETS[preset].recipe
    recipe.check(recipe.data.load())
