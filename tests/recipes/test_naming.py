"""Names of recipes: what differs, and nothing twice."""

import re
from dataclasses import replace

import pytest

from mttt.cli import train
from mttt.recipes import DEFAULT, PRESETS, Recipe, name_of, nearest_preset, options
from mttt.recipes.naming import LONGEST, _labels

DIGITS = PRESETS["digits"].recipe
MIXER = "--model.mixer"
CASES = {
    "": "digits",
    f"{MIXER} self-attention {MIXER} self-attention": "digits-self-attention",
    f"{MIXER} mttt-linear {MIXER}.batching.steps 4": "digits-mttt-linear-steps4",
    f"{MIXER}.batching.steps 4 --epochs 40": "digits-steps4-epochs40",
    "--optimizer.rate 0.001": "digits-rate0.001",
    "--optimizer.rate 1e-5 --seed 1": "digits-rate1e-05-seed1",
    f"{MIXER}.optimizer.rate 0.001": "digits-mixer-optimizer-rate0.001",
    "--optimizer.schedule constant --optimizer.bfloat16-moment True": "digits-constant-bfloat16-moment",
    f"{MIXER}.task.decoder-norm False": "digits-no-decoder-norm",
    f"{MIXER}.learner linear {MIXER}.start zeros": "digits-learner-linear-zeros",
    "--model.head linear": "digits-head-linear",
    "--model.dim 32 --model.size tiny": "digits-tiny-dim32",
    "folder --data.path /some/where/pets": "folder-pets",
    "folder --data.path pets --data.on-error skip --data.augment.crop none": "folder-pets-skip-no-crop",
    "folder --data tar --data.path pets.tar": "folder-tar-pets.tar",
    "--data parquet": "folder-parquet",
    "--data.path ../we[i]rd$name --data folder": "folder-we_i_rd_name",
}


def named(words):
    preset, arguments = train.parse(words.split())
    return train.default_path(preset, arguments).name


@pytest.mark.parametrize(("words", "name"), CASES.items())
def test_a_name_says_what_differs(words, name):
    assert named(words) == name


def variants():
    """Every name that can be chosen and every number changed, one at a time and with another seed."""
    base = Recipe()
    for path, here in options(base).items():
        for name in here:
            yield train.parse(["digits", f"--{path}", name])[1].recipe
    numbers = ["epochs 3", "epochs 3.5", "batch-size 3", "seed 3", "model.dim 3", "model.depth 3", "optimizer.rate 3"]
    numbers += ["model.mixer.optimizer.rate 3", "optimizer.rate 0.3", "optimizer.b1 0.3", "optimizer.b2 0.3"]
    numbers += ["model.mixer.batching.steps 3", "model.mixer.adjoint.block 3", "mixup 0.3", "data.holdout 0.3"]
    for words in numbers:
        recipe = train.parse(["digits", *f"--{words}".split()])[1].recipe
        yield recipe
        yield replace(recipe, seed=33)


def test_different_recipes_have_different_names():
    recipes = list(dict.fromkeys(variants()))
    names = [name_of("digits", DIGITS, recipe) for recipe in recipes]
    assert len(set(names)) == len(recipes) > 40
    assert all(re.fullmatch(r"[\w.+-]+", name) and len(name.encode()) <= LONGEST for name in names)
    assert len(set(_labels().values())) == len(_labels())


def test_a_long_name_is_cut_and_stays_the_only_one():
    changes = "--model.dim 8 --model.depth 3 --model.heads 2 --model.patch 2 --mixup 0.25 --batch-size 16 --epochs 2.5"
    changes += " --evaluation-batch-size 99"
    one = train.parse([*changes.split(), "--log-every", "7"])[1].recipe
    names = {name_of("digits", DIGITS, recipe) for recipe in (one, replace(one, log_every=8))}
    assert len(names) == 2
    for name in names:
        assert re.fullmatch(r"digits-dim8-depth3-.*-[0-9a-f]{8}", name) and len(name) <= LONGEST
    assert len(name_of("фото" * 40, DIGITS, one).encode()) <= LONGEST


def test_the_nearest_preset_is_found():
    for name, preset in PRESETS.items():
        assert nearest_preset(replace(preset.recipe, seed=7)) == name
    assert DEFAULT in PRESETS
