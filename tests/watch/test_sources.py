"""Runs and files as models of the page: newest checkpoints, trainings, and what ships with the package."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from mttt.data import BadData, describe
from mttt.recipes import encode
from mttt.runs import Run, RunError
from mttt.watch.asked import Refused
from mttt.watch.compact import read_compact, write_compact
from mttt.watch.models import Entry, catalogue
from mttt.watch.service import Service
from mttt.watch.sources import RunSource, ShippedSource
from watch.small import RECIPES, Drawn, _prepared, asked

SHIPPED = sorted(Path(str(files("mttt.watch") / "shipped")).glob("*.npz"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    _, data = _prepared("full")
    run = Run.create(tmp_path_factory.mktemp("runs") / "mine", encode(RECIPES["full"]), describe(data))
    record = {"epoch": 0.2, "loss": 2.0, "accuracy": 0.1, "rate": 0.1, "examples_per_second": 9.0}
    run.metrics.append({"kind": "train", "step": 10} | record)
    return run


def save(run, step):
    prepared, _ = _prepared("full")
    with run.checkpoints(write=True) as checkpoints:
        checkpoints.save(step, prepared.state(), {})


def test_a_run_is_looked_at_as_soon_as_it_has_a_checkpoint(run):
    entry = Entry("mine", RunSource(run.path), 2)
    service, described = Service({"mine": entry}), entry.describe()
    assert not described["usable"] and described["why_not"] == "It has no checkpoint yet; train it first."
    assert described["has_training"] and not described["training"] and "not trained yet" in described["about"]
    with pytest.raises(Refused, match="cannot be looked at: It has no checkpoint") as refused:
        service.trace(asked("mine"))
    assert refused.value.status == 409
    save(run, 3)
    assert entry.describe()["usable"] and entry.current().step == 3
    assert entry.current() is entry.current()
    save(run, 5)
    assert entry.current().step == 5
    with run.locked():
        assert entry.describe()["training"] and service.training("mine")["running"]
    found = service.training("mine")
    assert (found["step"], found["evaluation_name"], found["result"]) == (10, "test", None)
    assert [record["step"] for record in found["metrics"]] == [10] and found["steps"] > 1000
    assert len(entry.pictures) == 2


def test_damaged_metrics_of_a_run_take_nothing_from_the_page(tmp_path):
    _, data = _prepared("full")
    run = Run.create(tmp_path / "torn", encode(RECIPES["full"]), describe(data))
    run.metrics.path.write_text('{"kind": \n')
    service = Service({"torn": Entry("torn", RunSource(run.path), 1)})
    (described,) = service.models()["models"]
    assert described["id"] == "torn" and "accuracy" not in described["about"]
    with pytest.raises(RunError, match=r"torn.metrics.jsonl: .*line.* is not JSON"):
        service.training("torn")


def test_why_there_are_no_examples_is_told():
    class Moved(RunSource):
        def __init__(self):
            self.name, (self.prepared, _) = "moved", _prepared("full")

        run = None
        newest = 1

        def data(self):
            raise BadData("nowhere does not exist")

        def result(self):
            return {}

    entry = Entry("moved", Moved(), 2)
    assert entry.describe()["no_examples"] == "The evaluation data cannot be read: nowhere does not exist"
    assert Entry("moved", Drawn("full"), 2).describe()["no_examples"] is None


def test_a_run_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(RunError, match="does not exist"):
        catalogue([tmp_path / "nothing"], examples=1)


def test_the_same_name_twice_is_two_models(run):
    found = list(catalogue([run.path, run.path], examples=1))
    assert found == ["mine", "mine (2)", *(path.stem for path in SHIPPED)]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_what_ships_is_small_and_whole(path):
    source = ShippedSource(path)
    assert path.stat().st_size < 400_000
    assert source.load().step == source.newest == source.prepared.plan.steps
    assert source.data().evaluation.source.labels.size


@pytest.mark.parametrize("path", [path for path in SHIPPED if "digits" in path.stem], ids=lambda path: path.stem)
def test_what_ships_is_as_accurate_as_its_header_says(path):
    source = ShippedSource(path)
    loaded = source.load()
    batches = loaded.prepared.evaluation_batches(source.data())
    found = loaded.prepared.evaluate(loaded.model, batches)
    assert found.examples == source.result()["examples"] == 360
    assert found.accuracy == pytest.approx(source.result()["accuracy"], abs=2 / 360)
    assert found.accuracy > 0.95


def test_a_run_becomes_a_small_file(run, tmp_path):
    if not (run.path / "checkpoints" / "7").exists():
        save(run, 7)
    written = write_compact(run.path, tmp_path / "small.npz")
    read = read_compact(tmp_path / "small.npz")
    assert read.step == written.step == 7 and read.result == written.result
    before, after = RunSource(run.path).load().model, read.load().model
    np.testing.assert_allclose(after.embed.dense.weight, before.embed.dense.weight, rtol=1e-3)
    assert json.dumps(read.result)


@pytest.mark.parametrize("broken", ["empty", "cut", "other", "header"])
def test_a_broken_file_is_a_sentence(broken, tmp_path):
    path, whole = tmp_path / "small.npz", SHIPPED[0].read_bytes()
    if broken == "header":
        np.savez(path, header=np.frombuffer(b'{"recipe": {}}', np.uint8))
    else:
        path.write_bytes({"empty": b"", "cut": whole[:-100], "other": b"hello" * 9}[broken])
    with pytest.raises(RunError, match="is not a model that ships"):
        read_compact(path)


def test_arrays_of_another_model_are_refused():
    compact = read_compact(SHIPPED[0])
    name = next(iter(compact.arrays))
    with pytest.raises(RunError, match="does not fit its recipe"):
        compact._replace(arrays=compact.arrays | {name: np.zeros((2, 2), np.float16)}).load()
