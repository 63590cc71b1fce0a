"""The program, and what it says to mistakes."""

import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from cli.harness import TINY, mttt
from mttt.cli import train
from mttt.data.pictures import load_digits
from mttt.recipes import PRESETS, Recipe, options
from mttt.version import __version__

BATCHING = "--model.mixer.batching"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    out, _ = mttt("train", *TINY, "--epochs", "1", "--run", "my run", cwd=folder)
    assert "In my run/:" in out
    assert "evaluate 'my run' --steps 0" in out
    return folder / "my run"


def test_a_run_leaves_what_it_says(run):
    assert {path.name for path in run.iterdir()} == {
        ".lock",
        "checkpoints",
        "figures",
        "metrics.jsonl",
        "recipe.json",
        "result.json",
    }
    kinds = [json.loads(line)["kind"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert kinds[-2:] == ["train", "evaluation"]
    for name in ("learning-curves.png", "inner-losses.png"):
        with Image.open(run / "figures" / name) as image:
            assert image.width > 500


def test_evaluate_with_any_number_of_steps(run, here):
    for steps in ([], ["--steps", "0"], ["--steps", "4", "--rate", "0.5"]):
        result = json.loads(here("evaluate", run, *steps, "--json")[0])
        assert 0 <= result["accuracy"] <= 1
        assert result["examples"] == 360
        assert np.shape(result["inner_losses"]) == (1, int(steps[1]) + 1 if steps else 2)
        if not steps:
            assert result["accuracy"] == json.loads((run / "result.json").read_text())["accuracy"]
    out, _ = here("evaluate", run)
    assert "accuracy" in out
    assert "t = 1" in out


def test_a_model_of_pictures_writes_nothing(run, here):
    _, err = here("generate", run, code=2)
    assert f"{run} classifies images and writes nothing; mttt predict" in err


def test_predict_prints_the_top_classes(run, tmp_path, here):
    load_digits().evaluation[0].image.resize((80, 80)).save(tmp_path / "a digit.png")
    out, _ = here("predict", run, tmp_path / "a digit.png", "--top", "2")
    assert out.startswith(str(tmp_path / "a digit.png"))
    assert out.count("%") == 2
    out, _ = here("predict", run, tmp_path / "a digit.png", "--json")
    top = json.loads(out)[0]["top"]
    assert len(top) == 3
    assert top[0][1] >= top[1][1]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["trian"], "Did you mean train"),
        (["train", "digit"], "Did you mean digits"),
        (["train", "--model.mixer", "mtt-mlp"], "Did you mean mttt-mlp"),
        (["train", "--model.mixer"], "needs a name"),
        (["train", "--model.mixer.optimizer", "sgd"], "Choose from: fixed-rate"),
        (
            ["train", "--model.mixer", "self-attention", "--model.mixer.optimizer", "adam"],
            "no such choice with the model.mixer",
        ),
        (["train", "--epochs", "-1"], "--epochs -1.0: must"),
        (["train", "--epochs", "nan"], "--epochs nan: must"),
        (["train", "--epochs", "many"], "many"),
        (["train", "--no-such-field", "1"], "unknown option --no-such-field"),
        (["train", "--model.patch", "3"], "patch=3 does not divide an image of 8×8; try 1, 2, 4, 8"),
        (["train", "--model.heads", "7"], "--model.heads 7: does not divide"),
        (["train", "--model.mixer.batching.steps", "-2"], "--model.mixer.batching.steps -2: must"),
        (["train", "--model.patch", "4", *f"{BATCHING} mini {BATCHING}.steps 9".split()], "at most 4"),
        (["train", "--model.mixer.start", "zeros"], "--model.mixer.start zeros: a network whose"),
        (["train", "--model.mixer.learner", "nadaraya-watson"], "--model.mixer.start trained: a learner without"),
        (["train", "--model.mixer.steps", "4"], "--model.mixer.batching.steps"),
        (["train", "--batch-size", "5000"], "there are 1437 training examples"),
        (["train", "--batch-size", "10", "--outer.accumulate", "3"], "does not divide batch_size=10"),
        (["train", "--data.holdout", "1.5"], "--data.holdout 1.5: must"),
        (["train", "--data.holdout", "0.001"], "leaves none to evaluate on"),
        (["train", "--seed", "99999999999999999999"], "less than 2³²"),
        (["train", "--epochs", "1e9"], "more than 2³¹ steps"),
        (["train", "--epochs", "1e12"], "--epochs 1000000000000.0: must be at most 2,147,483,647"),
        (["train", "--evaluate-every", "1e308"], "--evaluate-every 1e+308: must"),
        (["train", "--model.dim", "2147483647"], "--model.dim 2147483647: must be at most 131,072"),
        (["train", "--model.depth", "2147483647"], "--model.depth 2147483647: must be at most 4,096"),
        (["train", "--model.mixer.learner.factor", "2147483647"], "learner.factor 2147483647: must"),
        (["train", "--model.mixer.batching.steps", "9" * 20], "steps 999"),
        (["train", "--model.mixer", "hyena", "--model.mixer.order", "2147483647"], "must be at most 64"),
        (["train", "--model.dim", "131072", "--model.heads", "1024"], "TiB of memory"),
        (["evaluate", "nowhere"], "does not exist"),
        (["predict", "nowhere", "x.png"], "does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_get_a_reason_before_any_work(words, reason, capsys, tmp_path, monkeypatch):
    from mttt.cli.main import main

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit:
        main(words)
    captured = capsys.readouterr()
    assert exit.value.code == 2
    assert reason in captured.err + captured.out
    assert list(tmp_path.iterdir()) == [], "nothing was begun"


def test_a_model_without_an_inner_loop_has_no_steps_to_change(tmp_path, here):
    here("train", *TINY, "--epochs", "0.2", "--model.mixer", "self-attention", "--run", "run", cwd=tmp_path)
    out, _ = here("evaluate", "run", "--json", cwd=tmp_path)
    assert json.loads(out)["inner_losses"] is None
    assert not (tmp_path / "run" / "figures" / "inner-losses.png").exists()
    _, err = here("evaluate", "run", "--steps", "2", code=2)
    assert "has no inner loop" in err


def test_the_default_needs_no_words():
    preset, arguments = train.parse([])
    assert preset is None
    assert arguments.recipe == PRESETS["digits"].recipe
    assert arguments.run is None


def test_defects_of_ours_are_not_blamed_on_the_user(monkeypatch):
    from mttt.cli import presets
    from mttt.cli.main import main

    def broken(words, console):
        raise ValueError("a defect")

    monkeypatch.setattr(presets, "main", broken)
    with pytest.raises(ValueError, match="a defect"):
        main(["presets"])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--steps", "-1"], "--steps -1: must"),
        (["--steps", "9" * 20], "must be at most 1,048,576"),
        (["--rate", "nan"], "--rate nan: must"),
        (["--steps", "4", "--rate", "2e9", "--json"], "diverged"),
        (["--rate", "1e30"], "--rate 1e+30: must"),
    ],
)
def test_impossible_evaluations_are_refused(run, words, reason, here):
    _, err = here("evaluate", run, *words, code=2)
    assert reason in err


def test_version_help_and_module(tmp_path, here):
    assert mttt("--version", cwd=tmp_path)[0].strip() == f"mttt {__version__}"
    assert "evaluate" in here("--help")[0]
    out, _ = here("train", "--help")
    for words in (
        "--model.mixer.batching.steps",
        "imagenet-patches  the",
        "--optimizer.rate",
        "self-attention",
        "peak rate",
    ):
        assert words in out
    assert "digits" in here("presets")[0]
    out, _ = here("presets", "--mixers")
    assert all(name in out for name in options(Recipe())["model.mixer"])


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_does_not_wait_for_jax(word):
    program = f"import sys, mttt.cli.main as m\ntry: m.main(['{word}'])\nfinally: assert 'jax' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0


def test_compiled_programs_are_kept(tmp_path, monkeypatch):
    import jax

    from mttt.cli.compiled import keep_compiled_programs

    settings = {}
    monkeypatch.setattr(jax.config, "update", lambda name, value: settings.__setitem__(name, value))
    keep_compiled_programs()
    assert settings == {}, "the user has said where"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    keep_compiled_programs()
    assert settings["jax_compilation_cache_dir"].startswith(str(tmp_path / "cache" / "mttt"))
    settings.clear()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    keep_compiled_programs()
    assert settings == {}, "nowhere to keep them is no reason to stop"
