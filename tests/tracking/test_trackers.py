"""Each tracker in its process: what it is told, and what happens when it fails, hangs or is not there."""

import json
import os
import time

import pytest

from mttt.tracking import TRACKERS, Feed, Tracked, missing
from tracking.fakes import curves, events, install
from tracking.records import SKIPPED, append, evaluation, train, write

RECIPE = {"epochs": 3, "model": {"kind": "vit", "mixer": {"rate": 0.1, "rates": None, "learn": True}}}


class Fed:
    """A feed, and what it said."""

    def __init__(self, tracker, run, **more):
        self.places, self.reasons = [], []
        self.feed = Feed(
            tracker,
            Tracked(str(run), "0123456789abcdef", RECIPE, **more),
            where=self.places.append,
            failed=self.reasons.append,
        )

    def end(self):
        self.feed.over()
        assert self.feed.wait(60.0)
        return self


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def until(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_tensorboard_shows_a_training_as_it_goes_and_nothing_twice(run):
    write(run, [SKIPPED, train(1), train(2, 0.75)])
    place = run / "tensorboard"
    live = Fed("tensorboard", run)
    until(lambda: live.places)
    append(run, evaluation(2))
    live.end()
    assert (live.places, live.reasons, live.feed.ok) == ([str(place)], [], True)
    assert curves(place)["train/loss"] == [(1, 1.0), (2, 0.75)]
    assert curves(place)["inner_loss/layer1/head2/before"] == [(2, 3.0)]
    write(run, [SKIPPED, train(1)])  # killed and resumed
    append(run, train(2, 0.5), evaluation(2), train(3))
    Fed("tensorboard", run).end()
    assert len(list(place.iterdir())) == 2
    assert curves(place)["train/loss"] == [(1, 1.0), (2, 0.5), (3, 1.0)]
    assert curves(place)["eval/accuracy"] == [(2, 0.6)]


def test_tensorboard_has_the_recipe(run):
    write(run, [train(1)])
    Fed("tensorboard", run, directory=str(run / "logs")).end()
    values = [value for event in events(run / "logs" / "run-012345") for value in event.summary.value]
    plugins = {value.tag: value.metadata.plugin_data for value in values}
    start = plugins["_hparams_/session_start_info"].content
    for part in (b"model.mixer.rate", b"model.kind", b"vit", b"epochs"):
        assert part in start
    text = next(value for value in values if value.tag.startswith("recipe"))
    assert json.loads(text.tensor.string_val[0]) == RECIPE


def test_wandb_goes_on_in_the_same_run_and_gets_no_step_twice(run, tmp_path, monkeypatch):
    calls = install(tmp_path, monkeypatch, STARTING_STEP="2")
    write(run, [train(1), SKIPPED, train(2), evaluation(2)])
    fed = Fed("wandb", run, directory="elsewhere").end()
    (_, given, settings), *logs, last = calls()
    assert given["id"] == "0123456789abcdef" and given["resume"] == "allow" and given["config"] == RECIPE
    assert (given["project"], given["name"], given["dir"]) == ("mttt", "run", "elsewhere") and settings["silent"]
    assert [(name, step) for name, step, _ in logs] == [("log", 2), ("log", 2)] and last == ["finish"]
    assert "train/loss" in logs[0][2] and "eval/accuracy" in logs[1][2]
    assert (fed.places, fed.reasons) == (["https://example.org/run"], [])


def test_trackio_knows_a_run_by_a_name_that_no_other_has(run, tmp_path, monkeypatch):
    calls = install(tmp_path, monkeypatch, STARTING_STEP="2")
    write(run, [train(1), SKIPPED, train(2)])
    Fed("trackio", run, directory="elsewhere").end()
    first, *logs, last = calls()
    assert first == ["init", "mttt", "run-012345", RECIPE, "allow", "elsewhere"]
    assert [step for _, step, _ in logs] == [2] and last == ["finish"]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raise", "RuntimeError: no network"),
        ("thread", "[Errno 28] No space left on device"),
        ("die", "its process ended with code 7"),
    ],
)
def test_one_sentence_says_why_a_tracker_failed(run, tmp_path, monkeypatch, how, reason):
    install(tmp_path, monkeypatch, HOW=how)
    write(run, [train(1), train(2)])
    fed = Fed("wandb", run)
    until(lambda: fed.reasons)
    assert fed.end().reasons == [reason] and not fed.feed.ok


def test_a_tracker_that_hangs_is_ended_and_not_waited_for(run, tmp_path, monkeypatch):
    calls = install(tmp_path, monkeypatch, HOW="sleep")
    write(run, [train(1)])
    fed = Fed("wandb", run)
    until(lambda: len(calls()) == 2)
    fed.feed.over()
    assert not fed.feed.wait(0.05)
    fed.feed.kill()
    assert fed.feed.wait(0.0) and fed.reasons == [] and not fed.feed.ok
    fed.feed.kill()  # again is nothing


def test_a_package_that_is_gone_is_a_reason(run, monkeypatch, tmp_path):
    (tmp_path / "broken" / "wandb").mkdir(parents=True)
    (tmp_path / "broken" / "wandb" / "__init__.py").write_text("raise ImportError('half installed')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'broken'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    write(run, [train(1)])
    assert Fed("wandb", run).end().reasons == ["ImportError: half installed"]


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    assert missing("tensorboard") is None
    monkeypatch.setattr("mttt.tracking.trackers.find_spec", lambda name: None)
    assert {name: missing(name) for name in TRACKERS} == {
        "tensorboard": "tensorboardX",
        "wandb": "wandb",
        "trackio": "trackio",
    }


def test_a_folder_of_its_files_is_not_the_package(tmp_path, monkeypatch):
    from importlib.machinery import PathFinder

    (tmp_path / "wandb").mkdir()
    monkeypatch.setattr("mttt.tracking.trackers.find_spec", lambda name: PathFinder.find_spec(name, [str(tmp_path)]))
    assert missing("wandb") == "wandb"
