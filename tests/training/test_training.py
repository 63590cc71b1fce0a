"""From a recipe to a run, and from a run back to a model."""

import json
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import relative_error
from mttt.data import BadData, Batch, EvaluationBatches, describe
from mttt.data.pictures import PictureView
from mttt.outer import EvolutionStrategies, ExactGradient, Mixup
from mttt.recipes import PRESETS, encode
from mttt.recipes.data import DigitsRecipe
from mttt.recipes.outer import EvolutionRecipe, ExactRecipe
from mttt.runs import Run, RunError
from mttt.training import launch, load, prepare, prepare_for

DIGITS = PRESETS["digits"].recipe
RECIPE = replace(
    DIGITS,
    model=replace(DIGITS.model, dim=8, depth=1, patch=4),
    epochs=0.2,
    evaluate_every=1.0,
    checkpoint_every=1.0,
)


class Nobody:
    """An observer that looks away."""

    def at(self, step):
        pass

    def record(self, record):
        pass


@pytest.fixture(scope="module", autouse=True)
def promotion():
    """Optax promotes dtypes implicitly."""
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture(scope="module")
def data():
    return RECIPE.data.load()


@pytest.fixture(scope="module")
def run(tmp_path_factory, data):
    run = Run.create(tmp_path_factory.mktemp("runs") / "run", encode(RECIPE), describe(data))
    launch(prepare(RECIPE, data), data, run, Nobody())
    return run


def test_a_training_needs_no_data_to_be_prepared(data):
    here, elsewhere = prepare(RECIPE, data), prepare_for(RECIPE, data.spec, len(data.train))
    assert here.plan == elsewhere.plan and here.plan.examples == 1437
    assert relative_error(here.state().model, elsewhere.state().model) == 0
    assert eqx.tree_equal(here.shapes(), eqx.filter_eval_shape(elsewhere.state))


def test_the_recipe_chooses_objective_and_rule(data):
    assert type(prepare(RECIPE, data).rule) is ExactGradient
    assert prepare(replace(RECIPE, outer=ExactRecipe(4)), data).rule.accumulate == 4
    rule = prepare(replace(RECIPE, outer=EvolutionRecipe(pairs=3, sigma=0.5)), data).rule
    assert type(rule) is EvolutionStrategies and (rule.pairs, rule.sigma) == (3, 0.5)
    mixed = prepare(replace(RECIPE, mixup=0.3), data).objective
    assert type(mixed) is Mixup and mixed.alpha == 0.3
    half = prepare(replace(RECIPE, dtype="bfloat16"), data)
    assert half.read(np.zeros((8, 8, 1), np.uint8)).dtype == jnp.bfloat16


def test_a_prepared_step_is_a_program(data):
    prepared = prepare(replace(RECIPE, outer=EvolutionRecipe(pairs=2), batch_size=4), data)
    batch = Batch(np.zeros((4, 8, 8, 1), np.uint8), np.arange(4, dtype=np.int32), np.ones(4, np.float32))
    before = prepared.state()
    after, _ = prepared.program()(prepared.state(), batch)
    assert int(after.step) == 1 and float(after.totals.count) == 4
    before, after = (eqx.filter(state.rule_state, eqx.is_inexact_array) for state in (before, after))
    assert relative_error(after, before) > 0


def test_a_model_that_cannot_run_is_refused_before_anything_is_computed(data):
    with pytest.raises(ValueError, match="patch"):
        prepare(replace(RECIPE, model=replace(RECIPE.model, patch=3)), data).check()


def test_data_without_an_example_to_judge_by_are_refused(data):
    prepared = prepare(RECIPE, data)

    class Broken:
        labels = np.zeros(3, np.int32)
        __len__ = lambda self: 3  # noqa: E731
        name = lambda self, index: f"picture {index}"  # noqa: E731

        def __getitem__(self, index):
            raise mttt.data.BadExample(self.name(index), "is torn")

    judged = EvaluationBatches(PictureView(Broken(), (), (8, 8, 1), "skip"), 2)
    with pytest.raises(BadData, match="there is no example to evaluate on; picture 0: is torn"):
        prepared.evaluate(prepared.state().model, judged)


def test_a_run_gives_its_model_back_where_the_data_are_gone(run, data, monkeypatch):
    def gone(self):
        raise OSError("the data are gone")

    monkeypatch.setattr(DigitsRecipe, "load", gone)
    loaded = mttt.load(str(run.path))
    assert loaded.recipe == RECIPE and loaded.step == prepare(RECIPE, data).plan.steps
    assert loaded.classes == data.classes and loaded.spec == data.spec
    inputs = data.evaluation.example(0, np.random.default_rng(0)).inputs
    assert eqx.filter_jit(loaded.model)(loaded.read(inputs)).shape == (10,)
    judged, seen = loaded.prepared.evaluation_batches(data), []
    evaluation = loaded.prepared.evaluate(loaded.model, judged, lambda done, total: seen.append((done, total)))
    total = -(-len(data.evaluation) // judged.batch_size)
    assert seen == [(done, total) for done in range(total)]
    assert {name: run.result[name] for name in evaluation.record()} == evaluation.record()


def test_a_run_without_a_checkpoint_has_no_model(tmp_path, data):
    Run.create(tmp_path / "run", encode(RECIPE), describe(data))
    with pytest.raises(RunError, match="run has no checkpoint yet; train it first"):
        load(tmp_path / "run")


def test_runs_of_other_versions_are_refused_in_one_sentence(run, tmp_path):
    header = json.loads((run.path / "recipe.json").read_text())
    assert header["format"] == 3
    others = [(None, "is a run of mttt 0.1, and mttt 0.1 reads it"), (2, r"another version of mttt \(format 2\)")]
    for number, words in others:
        header["format"] = number
        kept = header if number else {name: header[name] for name in ("recipe", "versions", "machine", "data")}
        (tmp_path / "recipe.json").write_text(json.dumps(kept))
        with pytest.raises(RunError, match=words) as refused:
            mttt.load(tmp_path)
        assert "\n" not in str(refused.value)
