"""mttt track, and trackers beside mttt train: the training has the same numbers whatever they do."""

import json
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

from cli.harness import TINY, metrics
from mttt.cli import tracking
from mttt.data import describe
from mttt.recipes import PRESETS, encode
from mttt.runs import Run
from mttt.tracking import TRACKERS
from tracking.fakes import curves, install
from tracking.records import append, evaluation, train

DIGITS = PRESETS["digits"].recipe
WORDS = [*TINY, "--model.dim", "8", "--model.mixer", "self-attention", "--epochs", "0.5"]


@pytest.fixture(scope="module")
def data():
    return describe(DIGITS.data.load())


@pytest.fixture
def runs(tmp_path, data, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("a/digits", "b/digits", "empty"):
        Path(path).parent.mkdir(exist_ok=True)
        Run.create(Path(path), encode(DIGITS), data)
    append(Path("a/digits"), train(1), evaluation(2))
    append(Path("b/digits"), train(1, 0.5))
    return tmp_path


def test_runs_are_replayed_each_into_its_own_folder(runs, here):
    out, _ = here("track", "a/digits", "b/digits", "./a/digits", "empty", "--to", "tensorboard", "--dir", "logs")
    assert "empty has no numbers yet." in out and out.count("a/digits: tensorboard, ") == 1
    losses = {path.name[:7]: curves(path)["train/loss"] for path in Path("logs").iterdir()}
    assert len(list(Path("logs").iterdir())) == 2 and losses == {"digits-": [(1, losses["digits-"][0][1])]}
    here("track", "a/digits", "--to", "tensorboard")
    assert curves(Path("a/digits/tensorboard"))["eval/loss"] == [(2, 0.9)]


def test_a_run_that_is_being_trained_is_followed_to_its_end(runs, here, monkeypatch):
    monkeypatch.setattr("mttt.cli.track._PAUSE", 0.05)
    run, begun = Run.open(Path("empty")), threading.Event()

    def training():
        with run.locked():
            begun.set()
            while not list(run.path.glob("tensorboard/events*")):
                time.sleep(0.01)
            time.sleep(0.6)  # longer than what is over takes to end
            run.metrics.append(train(1))
            run.metrics.append(evaluation(2))

    thread = threading.Thread(target=training)
    thread.start()
    begun.wait()
    here("track", "empty", "--to", "tensorboard")
    thread.join()
    assert curves(run.path / "tensorboard")["eval/loss"] == [(2, 0.9)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--to", "tensorboard"], "no run was given"),
        (["a", "--to", "tensorboard"], "a is not a run: it has no recipe.json"),
        (["a/digits", "--to", "mlflow"], "--to mlflow: expected tensorboard or wandb or trackio"),
        (["a/digits", "--to", "wandb"], "--to wandb needs wandb: pip install wandb"),
        (["a/digits"], "--to"),
    ],
)
def test_what_cannot_be_tracked_is_a_sentence(runs, here, monkeypatch, words, says):
    monkeypatch.setattr("mttt.tracking.trackers.find_spec", lambda name: None if name == "wandb" else find_spec(name))
    assert says in here("track", *words, code=2)[1]


def test_a_tracker_that_fails_ends_the_command_with_1(runs, here, tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, HOW="raise")
    out, _ = here("track", "a/digits", "--to", "wandb", code=1)
    assert "a/digits: wandb did not take it: RuntimeError: no network" in out


def test_the_command_line_knows_the_trackers_there_are():
    assert tracking.TrackerName.__args__ == tuple(TRACKERS)


def test_a_training_is_the_same_whatever_its_trackers_do(tmp_path, here, monkeypatch):
    monkeypatch.setattr("mttt.cli.train.draw_figures", lambda run: [])
    here("train", *WORDS, "--run", "plain", cwd=tmp_path)
    calls = install(tmp_path, monkeypatch, HOW="raise")
    out, _ = here("train", *WORDS, "--run", "tracked", "--track", "tensorboard", "wandb")
    assert metrics(Path("plain")) == metrics(Path("tracked"))
    said = "wandb gets no more numbers, and the training goes on: RuntimeError: no network. Afterwards: "
    assert out.count(said) == 1 and "track tracked --to wandb" in out and len(calls()) == 2
    assert "Tracked by tensorboard: tracked/tensorboard" in out
    written = [(r["step"], round(r["loss"], 4)) for r in metrics(Path("tracked")) if r["kind"] == "train"]
    assert curves(Path("tracked/tensorboard"))["train/loss"] == written


def test_a_tracker_that_is_slow_is_not_waited_for_for_long(runs, tmp_path, monkeypatch):
    calls = install(tmp_path, monkeypatch, HOW="sleep")
    said = []
    monkeypatch.setattr(tracking, "PATIENCE", 0.1)
    monkeypatch.setattr(tracking, "say", lambda console, text: said.append(text))
    with tracking.feeding(("wandb", "wandb"), Run.open(Path("a/digits")), Console()) as feeds:
        feeds.start()
        while len(calls()) < 2:  # it is in the middle of a line
            time.sleep(0.02)
    assert feeds._feeds["wandb"]._process.poll() is not None
    assert said[0] == "Tracked by wandb: https://example.org/run" and len(said) == 2
    assert said[1].startswith("wandb has not taken all numbers within 0 s. Afterwards: ")


def test_a_missing_package_is_named_before_anything_is_trained(tmp_path, here, monkeypatch):
    monkeypatch.setattr("mttt.tracking.trackers.find_spec", lambda name: None)
    _, err = here("train", *WORDS, "--track", "trackio", cwd=tmp_path, code=2)
    assert err == "mttt: --track trackio needs trackio: pip install trackio\n" and not Path("runs").exists()


def test_a_tracker_whose_process_cannot_start_is_no_reason_to_stop(runs, here, monkeypatch):
    def full(*_, **__):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("mttt.tracking.feed.subprocess.Popen", full)
    run, said = Run.open(Path("a/digits")), []
    monkeypatch.setattr(tracking, "say", lambda console, text: said.append(text))
    with tracking.feeding(("tensorboard",), run, Console()) as feeds:
        feeds.start()
    assert len(said) == 1 and "the training goes on: [Errno 12] Cannot allocate memory" in said[0]


def test_the_last_evaluation_has_the_losses_of_each_head(tmp_path):
    import numpy as np

    from mttt.outer import Evaluation

    losses = np.array([[[2.0, 1.5, 1.0], [4.0, 3.0, 2.5]]])
    record = json.loads(json.dumps(Evaluation(0.5, 1.0, 10, losses).record()))
    assert record["inner_losses_by_head"] == [[[2.0, 1.0], [4.0, 2.5]]]
    assert record["inner_losses"] == [[3.0, 2.25, 1.75]]


def test_an_inner_loop_that_diverged_has_no_losses_and_stops_no_training():
    """JSON has no number for them, and the loss of the model may be finite all the same."""
    import numpy as np

    from mttt.outer import Evaluation

    record = Evaluation(0.5, 1.0, 10, np.array([[[2.0, np.inf]]])).record()
    assert json.dumps(record, allow_nan=False) and record["inner_losses"] is None and record["loss"] == 1.0
