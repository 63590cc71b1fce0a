"""Recipes: from the command line, to JSON and back, and to things that run."""

import json
from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest
from PIL import Image

import mttt
from mttt.cli import train
from mttt.cli.arguments import UsageError
from mttt.data import DataSet
from mttt.data.pictures import PictureView
from mttt.data.pictures.augment import (
    CentreCrop,
    InceptionCrop,
    RandAugment,
    RandomCrop,
    RandomFlip,
    Resize,
    ResizeShortSide,
)
from mttt.fields import FieldError, possible_choices
from mttt.recipes import PRESETS, Recipe, decode, encode, options, recipe_of
from mttt.recipes.augment import AugmentRecipe
from mttt.recipes.data import FolderRecipe, TarRecipe
from mttt.recipes.inner import (
    FullBatchRecipe,
    KeepRecipe,
    MiniBatchesRecipe,
    MLPLearnerRecipe,
    RecomputeRecipe,
    ReconstructionRecipe,
)
from mttt.recipes.inner_optimizers import FixedRateRecipe, InnerAdamRecipe, LearnedRateRecipe, MomentumRecipe
from mttt.recipes.rates import GatedRatesRecipe
from mttt.recipes.ttt import MTTT_LINEAR, TTTRecipe
from mttt.runs import Run, RunError
from mttt.training import prepare

OPTIONS = options(Recipe())


def check(recipe, data):
    prepare(recipe, data).check()


@pytest.mark.parametrize("mixer", OPTIONS["model.mixer"])
def test_every_mixer_of_the_command_line_builds_and_survives_json(mixer):
    _, arguments = train.parse(["digits", "--model.mixer", mixer, "--model.size", "micro-s", "--seed", "3"])
    recipe = arguments.recipe
    assert recipe.model.mixer == OPTIONS["model.mixer"][mixer].value
    assert decode(json.loads(json.dumps(encode(recipe)))) == recipe
    check(recipe, recipe.data.load())


@pytest.mark.parametrize("optimizer", OPTIONS["model.mixer.optimizer"])
@pytest.mark.parametrize("batching", OPTIONS["model.mixer.batching"])
def test_every_inner_optimizer_of_the_command_line_builds(optimizer, batching):
    words = f"--model.mixer.optimizer {optimizer} --model.mixer.batching {batching} --model.mixer.batching.steps 3"
    recipe = train.parse(["--model.mixer", "mttt-mlp", *words.split()])[1].recipe
    assert decode(encode(recipe)) == recipe
    check(recipe, recipe.data.load())


def test_recipes_that_do_not_fit_are_refused():
    good = encode(PRESETS["digits"].recipe)
    with pytest.raises(FieldError, match="colour=1: unknown field; known: data, model"):
        decode(good | {"colour": 1})
    with pytest.raises(FieldError, match=r"data\.kind=mnist: unknown; known: digits, pairs, idx"):
        decode(good | {"data": {"kind": "mnist"}})
    with pytest.raises(FieldError, match="seed='four': must be a whole number"):
        decode(good | {"seed": "four"})
    with pytest.raises(UsageError, match="unknown preset"):
        train.parse(["nothing"])
    with pytest.raises(UsageError, match=r"text is a kind of data, not a preset\. .* --data text --data\.path"):
        train.parse(["text"])


def test_a_run_whose_recipe_was_changed_is_refused(tmp_path):
    run = Run.create(tmp_path / "run", encode(PRESETS["digits"].recipe) | {"seed": "four"}, {})
    with pytest.raises(RunError, match=r"run cannot be used: seed='four': must be a whole number"):
        recipe_of(run)


def test_recipes_that_were_written_before_there_was_a_choice_of_schedule_fall_to_zero():
    written = encode(PRESETS["digits"].recipe)
    del written["optimizer"]["schedule"]
    recipe = decode(written)
    assert recipe == PRESETS["digits"].recipe
    _, rate = recipe.optimizer.build(100)
    assert (float(rate(10)), float(rate(100))) == (pytest.approx(3e-3), pytest.approx(0.0, abs=1e-9))
    _, rate = replace(recipe.optimizer, schedule="constant").build(100)
    assert float(rate(5)) == pytest.approx(1.5e-3) and float(rate(100)) == pytest.approx(3e-3)


def test_recipes_that_were_written_before_there_was_a_choice_of_model_are_of_pictures():
    written = encode(PRESETS["digits"].recipe)
    assert written["model"].pop("kind") == "vit"
    assert decode(written) == PRESETS["digits"].recipe


def test_names_stand_for_products_of_one_kind():
    recipe = train.parse(["--model.mixer", "mttt-linear", "--model.mixer.batching", "mini"])[1].recipe
    written = encode(recipe)["model"]["mixer"]
    assert written["kind"] == "ttt"
    assert (written["learner"], written["start"]) == ({"kind": "linear", "spread": None}, "zeros")
    assert written["batching"] == {"kind": "mini", "steps": 4}
    assert recipe.model.mixer == replace(MTTT_LINEAR, batching=MiniBatchesRecipe(4))
    # From one product to another in any order of the words, past products that have no meaning.
    words = ["--model.mixer.start", "frozen", "--model.mixer.learner", "mlp", "--model.mixer", "mttt-linear"]
    made = train.parse(words)[1].recipe.model.mixer
    assert (made.learner.kind, made.start, made.task.decoder_norm) == ("mlp", "frozen", False)
    made.check()


def test_what_is_chosen_decides_what_can_be_chosen():
    attention = train.parse(["--model.mixer", "self-attention"])[1].recipe
    assert set(options(attention)) == {"data", "model", "model.mixer", "outer"}
    parts = {"learner", "task", "optimizer", "rates", "batching", "adjoint"}
    every = {"data", "model", "model.mixer", "outer"} | {f"model.mixer.{part}" for part in parts}
    assert set(OPTIONS) == every
    assert set(possible_choices(Recipe)) == every | {"model.mixer.chunks"}  # of causal TTT


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ("--model.mixer.start zeros", "start"),
        ("--model.mixer kernel --model.mixer.start frozen", "start"),
        ("--model.mixer kernel --model.mixer.batching mini", "batching"),
        ("--model.mixer kernel --model.mixer.batching.steps 2", "batching"),
        ("--model.mixer.start memory", "start"),
        ("--model.mixer.learner nadaraya-watson", "start"),
        ("--model.mixer kernel --model.mixer.optimizer adam", "optimizer"),
        ("--model.mixer kernel --model.mixer.rates gated", "rates"),
    ],
)
def test_products_without_a_meaning_are_refused(words, field):
    recipe = train.parse(["digits", *words.split()])[1].recipe
    with pytest.raises(FieldError) as refused:
        check(recipe, recipe.data.load())
    assert refused.value.path == f"model.mixer.{field}"


def test_a_product_is_built_of_what_it_names():
    drawn = lambda recipe: eqx.filter_eval_shape(recipe.build(8), 8, 2, key=jax.random.key(0))  # noqa: E731
    recipe = TTTRecipe(
        MLPLearnerRecipe(3),
        "frozen",
        ReconstructionRecipe(decoder_norm=False, normalisation="paper"),
        MomentumRecipe(0.3, 0.5),
        GatedRatesRecipe(0.25),
        MiniBatchesRecipe(2),
        RecomputeRecipe(5),
    )
    layer = drawn(recipe)
    assert isinstance(layer.start, mttt.Frozen) and layer.start.learner.module.up.weight.shape == (2, 4, 12)
    assert (layer.task.decoder_norm, layer.task.divisor) == (None, 1.0)
    assert {name: c.value for name, c in layer.optimizer.hyperparameters.items()} == {
        "learning_rate": 0.3,
        "momentum": 0.5,
    }
    assert (layer.batching, layer.adjoint) == (mttt.MiniBatches(2), mttt.Recompute(5))
    assert layer.rates.gate.scale == 0.25
    for start, kind in (("trained", mttt.Trained), ("zeros", mttt.Zeros)):
        layer = drawn(replace(MTTT_LINEAR, start=start, adjoint=KeepRecipe()))
        assert isinstance(layer.start, kind) and layer.adjoint == mttt.Keep() and layer.rates is None


def test_an_optimizer_can_be_had_at_another_rate():
    assert FixedRateRecipe(2.0).at_rate(3.0) == LearnedRateRecipe(per_step=True).at_rate(3.0) == FixedRateRecipe(3.0)
    assert MomentumRecipe(momentum=0.5).at_rate(3.0) == MomentumRecipe(3.0, 0.5)
    assert InnerAdamRecipe().at_rate(3.0) == InnerAdamRecipe(3.0)
    steps = TTTRecipe(batching=FullBatchRecipe(3)).batching.steps
    assert LearnedRateRecipe(2.0, per_step=True).build(steps).rate.tolist() == [2.0, 2.0, 2.0]


SHAPES = {"fashion-patches": (28, 28, 1), "fashion-pixels": (14, 14, 1), "folder": (64, 64, 3)}
SHAPES |= {"cifar10-patches": (32, 32, 3), "cifar10-pixels": (16, 16, 3)}


class Many:
    """A source of as many images as ImageNet has. Nobody looks at them."""

    labels = np.zeros(1_281_167, np.int32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        raise AssertionError("nobody should look")

    def name(self, index):
        return str(index)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_can_run(preset, endless_memory):
    """Where the data is not there, with data of its shape."""
    recipe = PRESETS[preset].recipe
    assert decode(json.loads(json.dumps(encode(recipe)))) == recipe
    if preset in ("digits", "shakespeare"):  # they ship with the package
        check(recipe, recipe.data.load())
        return
    view = PictureView(Many(), (), SHAPES.get(preset, (224, 224, 3)))
    data = DataSet(view, view, tuple(map(str, range(1000 if "imagenet" in preset else 10))), "test")
    check(recipe, data)
    if "imagenet" in preset:  # the paper's: 90 epochs, 10,000 steps of warm-up
        plan = recipe.plan(len(data.train))
        assert plan.steps == 112_602
        assert round(recipe.optimizer.warmup * plan.steps) == 10_000


def test_augmentation_of_the_presets():
    patches, pixels = (PRESETS[f"imagenet-{kind}"].recipe.data for kind in ("patches", "pixels"))
    assert patches.augment.build(224, ()) == (InceptionCrop(224), RandomFlip(), RandAugment(2, 10))
    assert pixels.augment.build(224, ()) == (InceptionCrop(224),)
    assert AugmentRecipe(crop="pad").build(32, ()) == (RandomCrop(32, padding=4),)
    assert AugmentRecipe().build(64, (Resize(64),)) == (Resize(64),)


def test_pictures_stay_the_same_in_another_kind_of_file():
    recipe = train.parse(["imagenet-patches", "--data", "tar", "--data.path", "x", "--data.size", "160"])[1].recipe
    expected = PRESETS["imagenet-patches"].recipe.data
    assert (type(recipe.data), recipe.data.path, recipe.data.size) == (TarRecipe, "x", 160)
    assert recipe.data.augment == expected.augment
    assert train.parse(["digits", "--data", "folder"])[1].recipe.data == FolderRecipe()
    for words in (
        ["--data", "folder"],
        ["--data", "parquet", "--run", "nowhere"],
    ):  # data bring a model that suits them
        preset, arguments = train.parse(words)
        assert preset == "folder"
        assert arguments.recipe.model == PRESETS["folder"].recipe.model


def test_loading_makes_views(tmp_path):
    """Evaluation fits pictures to the model without chance; training varies them."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(10):
            Image.new("RGB", (50, 40), (25 * number, 0, 0)).save(tmp_path / name / f"{number}.png")
    data = FolderRecipe(path=str(tmp_path), size=28, holdout=0.2).load()
    assert (len(data.train), len(data.evaluation), data.classes) == (16, 4, ("a", "b"))
    assert data.evaluation.transforms == (ResizeShortSide(32), CentreCrop(28))
    assert data.spec.inputs.shape == data.evaluation.example(0, np.random.default_rng(0)).inputs.shape == (28, 28, 3)
    assert FolderRecipe(path=str(tmp_path), size=28, gray=True).load().spec.inputs.shape == (28, 28, 1)
