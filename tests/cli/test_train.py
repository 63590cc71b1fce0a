"""mttt train: runs that are made longer, and runs that begin with the weights of another."""

import json
import shutil
from pathlib import Path

import equinox as eqx
import jax
import pytest

from cli.harness import TINY, metrics
from mttt.cli import train
from mttt.data import describe
from mttt.recipes import encode, recipe_of
from mttt.runs import Run, history, origin
from mttt.runs.header import read_header, write_header
from mttt.training import launch, load, prepare

# Half an epoch is 11 steps. Attention compiles in a second.
WORDS = [*TINY, "--model.dim", "8", "--model.mixer", "self-attention", "--optimizer.warmup", "0.25"]
CONSTANT = ["--optimizer.schedule", "constant"]


def same_model(one, other):
    return bool(eqx.tree_equal(load(one).model, load(other).model))


def killed(*_, **__):
    raise OSError("killed")


class Nobody:
    """An observer that looks away."""

    at = record = lambda self, _: None


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run with a constant rate, and the same as if its rate had fallen."""
    folder = tmp_path_factory.mktemp("trained")
    recipe = train.parse([*WORDS, "--epochs", "0.5", *CONSTANT])[1].recipe
    data = recipe.data.load()
    run = Run.create(folder / "constant", encode(recipe), describe(data))
    with jax.numpy_dtype_promotion("standard"):  # Optax promotes implicitly
        launch(prepare(recipe, data), data, run, Nobody())
    shutil.copytree(folder / "constant", folder / "cosine")
    header = read_header(folder / "cosine")
    write_header(folder / "cosine", json.loads(json.dumps(header).replace('"constant"', '"cosine"')))
    return folder


@pytest.fixture
def place(trained, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mttt.cli.train.draw_figures", lambda run: [])
    return tmp_path


def test_a_longer_run_is_the_run_that_was_long_from_the_start(place, here, monkeypatch):
    first = json.loads(Path("constant/result.json").read_text())
    words = ["train", *WORDS, *CONSTANT, "--epochs", "1", "--run", "constant"]

    with monkeypatch.context() as patch:  # between the two writes
        patch.setattr("mttt.runs.extend.write_header", killed)
        here(*words, code=1)
    assert Run.open(Path("constant")).result is None and recipe_of(Run.open(Path("constant"))).epochs == 0.5
    with monkeypatch.context() as patch:  # after both, before the first step
        patch.setattr("mttt.cli.train.launch", killed)
        assert "constant is now trained to epoch 1 instead of 0.5" in here(*words, code=1)[0]
    here(*words)  # the same command goes on, though the run has another part of warm-up by now
    assert "is finished" in here(*words)[0]
    run = Run.open(Path("constant"))
    assert json.loads((run.path / "result-11.json").read_text()) == first
    assert run.result["step"] == 22 and load("constant").step == 22
    assert [(entry["step"], entry["recipe"]["epochs"]) for entry in history(run)] == [(11, 0.5)]
    here("train", "--recipe", "constant/recipe.json", "--run", "long")
    assert same_model("constant", "long")
    extra = [record for record in metrics(run.path) if record not in metrics(Path("long"))]
    assert {record["step"] for record in extra} <= {11, 12}, (
        "what the end of the short run wrote, and the line after it"
    )


def test_a_rate_that_was_planned_for_another_length_is_a_reason_not_to_go_on(place, here):
    before = {path: path.read_bytes() for path in Path("cosine").rglob("*") if path.is_file() and path.name != ".lock"}
    _, err = here("train", "--run", "cosine", "--epochs", "1", code=2)
    assert "cosine cannot continue to epoch 1: its outer rate was planned for an end at epoch 0.5 and fell to" in err
    assert "train --from cosine --epochs 0.5" in err
    assert "train --recipe cosine/recipe.json --epochs 1" in err
    for run in ("cosine", "constant"):
        _, err = here("train", "--run", run, "--epochs", "0.4", code=2)
        assert f"{run} has already been trained to epoch 0.49, so it cannot end at epoch 0.4" in err
    _, err = here("train", "--run", "constant", "--epochs", "1", "--seed", "1", code=2)
    assert "is a run of another recipe" in err
    after = {path: path.read_bytes() for path in Path("cosine").rglob("*") if path.is_file() and path.name != ".lock"}
    assert after == before


def test_a_run_begins_with_the_weights_of_another_and_does_not_need_it_afterwards(place, here, monkeypatch):
    words = ["train", "--from", "cosine", "--epochs", "0.2"]
    run = Path("runs/from-cosine-epochs0.2")
    with monkeypatch.context() as patch:  # before the first step
        patch.setattr("mttt.cli.train.launch", killed)
        out, _ = here(*words, code=1)
        assert "Weights of cosine, step 11:" in out and "Redrawn" not in out
        assert same_model(run, "cosine") and load(run).step == 0
        assert "Weights of" not in here(*words, code=1)[0], "the same command goes on with it"
    assert (origin(Run.open(run))["run"], origin(Run.open(run))["step"]) == ("cosine", 11)
    Path("cosine").rename("gone")
    here("train", "--run", run)
    assert load(run).step == 4 and not same_model(run, "gone")
    _, err = here("train", "digits", *WORDS, "--epochs", "0.2", "--run", run, code=2)
    assert "began with the weights of cosine, not with drawn weights" in err
    _, err = here("train", "--from", "gone", "--epochs", "0.2", "--run", run, code=2)
    assert "began with the weights of cosine, not with those of gone" in err


def test_weights_that_do_not_fit_are_listed(place, here):
    _, err = here("train", "--from", "cosine", "--model.patch", "2", code=2)
    assert err.startswith("mttt: the weights do not fit this model:\n  .embed.dense.weight: 16×8 there, 4×8 here\n")
    assert ".positions.table: 4×8 there, 16×8 here" in err
    assert not Path("runs").exists()


def test_only_what_a_model_can_do_is_offered(place, here):
    out, _ = here("train", "--run", "constant")
    assert "inner losses" not in out and "--steps" not in out
    result = json.loads(Path("constant/result.json").read_text()) | {"inner_losses": [[1.0, 0.5]]}
    Path("constant/result.json").write_text(json.dumps(result))
    out, _ = here("train", "--run", "constant")
    assert "accuracy and inner losses" in out and "--steps 0" in out


@pytest.mark.parametrize(
    "name", ["digits", "digits-self-attention-seed1", "folder-linear-attention-epochs10-pictures-seed3"]
)
def test_what_next_fits_80_columns(name, tmp_path, here, monkeypatch):
    monkeypatch.setattr(train, "program", lambda: "mttt")
    monkeypatch.setattr(train, "complete_figures", lambda run: run.figures.mkdir())
    recipe = train.parse([*WORDS, "--epochs", "0.5"])[1].recipe
    (tmp_path / "runs").mkdir()
    run = Run.create(tmp_path / "runs" / name, encode(recipe), describe(recipe.data.load()))
    result = {"step": 11, "accuracy": 0.5, "loss": 1.0, "inner_losses": [[1.0, 0.5]], "examples": 1, "skipped": 0}
    run.finish(result)
    out, _ = here("train", "--run", f"runs/{name}", cwd=tmp_path)
    assert f"mttt evaluate runs/{name} --steps 0" in out and "without learning at test time" in out
    assert max(map(len, out.splitlines()[1:])) <= 80
