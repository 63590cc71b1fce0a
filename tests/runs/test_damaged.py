"""Checkpoints that somebody or something has changed: noticed, set aside, and gone on without."""

import gc
import json
import logging
import os
import resource
import shutil
import sys
import time
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

from cli.harness import metrics
from mttt.runs import Checkpoints, DamagedCheckpoint, NotWritten, Run, RunError
from mttt.runs.seal import Damaged
from mttt.training import load


def flip(path, place):
    changed = bytearray(path.read_bytes())
    changed[int(place * (len(changed) - 1))] ^= 1
    path.write_bytes(bytes(changed))


def in_one(change):
    """A change of one file; there is a case for each."""
    return True, change


def once(change):
    """A change of the folder."""
    return False, change


def edit_seal(**changes):
    def change(folder):
        about = json.loads((folder / "seal.json").read_text())
        (folder / "seal.json").write_text(json.dumps(about | changes))

    return once(change)


def pipe(path):
    path.unlink()
    os.mkfifo(path)


CHANGED = r"has a changed |has lost |has a seal\.json that |has no seal\.json"
DAMAGES = {
    "a flipped bit at the start": (in_one(lambda path: flip(path, 0)), CHANGED),
    "a flipped bit in the middle": (in_one(lambda path: flip(path, 0.5)), CHANGED),
    "a flipped bit at the end": (in_one(lambda path: flip(path, 1)), CHANGED),
    "truncated": (in_one(lambda path: os.truncate(path, path.stat().st_size // 2)), CHANGED),
    "emptied": (in_one(lambda path: path.write_bytes(b"")), CHANGED),
    "missing": (in_one(lambda path: path.unlink()), "has "),
    "a pipe": (in_one(pipe), CHANGED),
    "all files missing": (once(lambda folder: (shutil.rmtree(folder), folder.mkdir())), "has no seal.json"),
    "a file instead": (once(lambda folder: (shutil.rmtree(folder), folder.write_text("?"))), "cannot be read"),
    "something more": (once(lambda folder: (folder / "state" / "more").write_text("?")), "state/more, which was not"),
    "another position": (edit_seal(position={"next_index": 3}), "seal.json that was changed"),
    "another step": (edit_seal(step=13), "seal.json that was changed"),
    "a wrong type": (edit_seal(step="12"), "has step = '12', which should be a whole number"),
    "deep nesting": (once(lambda folder: (folder / "seal.json").write_text("[" * 10**5)), "nested too deeply"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_checkpoint_is_noticed_and_the_one_before_is_used(name, trained, tmp_path):
    (in_files, damage), words = DAMAGES[name]
    whole = trained.path / "checkpoints" / "12"
    places = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file()] if in_files else [Path()]
    assert len(places) > 10 or not in_files
    run = trained.copy(tmp_path / "run")
    folder = run.path / "checkpoints" / "12"
    with run.checkpoints() as checkpoints:
        for place in places:
            damage(folder / place)
            with pytest.raises(Damaged, match=words):
                checkpoints.restore(12, trained.like)
            if place == places[0]:
                with pytest.warns(DamagedCheckpoint, match="left where it is; the checkpoint of step 8 is used"):
                    assert checkpoints.newest(trained.like).step == 8
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
            shutil.copytree(whole, folder)
        assert checkpoints.newest(trained.like).step == 12


@pytest.mark.parametrize(
    ("other", "words"),
    [("a renamed step", "it was saved at step 8"), ("a checkpoint of another run", "it belongs to another run")],
)
def test_a_checkpoint_has_its_run_and_step(other, words, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    folder = run.path / "checkpoints"
    if other == "a renamed step":
        shutil.copytree(folder / "8", folder / "14")
    else:
        with Stranger(tmp_path / "stranger") as stranger:
            stranger.save(14, trained.like, {"next_index": 14})
            shutil.copytree(tmp_path / "stranger" / "14", folder / "14")
    with run.checkpoints() as checkpoints, pytest.warns(DamagedCheckpoint, match=words):
        assert checkpoints.newest(trained.like).step == 12


class Stranger(Checkpoints):
    """Of a run with another id."""

    def __init__(self, path):
        super().__init__(path, "another", write=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def arrays(run, trained):
    with run.checkpoints() as checkpoints:
        kept = checkpoints.newest(trained.like)
    return kept.step, jax.tree.leaves(kept.state.model)


def test_training_sets_damaged_checkpoints_aside_and_ends_as_it_would_have(trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    folder = run.path / "checkpoints"
    flip(folder / "12" / "seal.json", 0.5)
    (folder / "99").mkdir()
    (folder / "77").write_text("a file")
    (folder / "damaged-99").mkdir()
    (run.path / "result.json").unlink()
    with pytest.warns(DamagedCheckpoint) as told:
        trained.train(run)
    assert [str(one.message).split(" is damaged")[0].rsplit("/")[-1] for one in told] == ["99", "77", "12"]
    assert "was renamed to damaged-99-2; the checkpoint of step 8 is used" in str(told[0].message)
    assert sorted(os.listdir(folder)) == ["12", "8", "damaged-12", "damaged-77", "damaged-99", "damaged-99-2"]
    whole = Run.open(trained.path)
    assert metrics(run.path) == metrics(trained.path)
    assert run.result == whole.result
    (step, got), (expected_step, expected) = arrays(run, trained), arrays(whole, trained)
    assert step == expected_step == 12
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("missing", ["damaged", "deleted", "moved"])
def test_where_no_checkpoint_is_whole_nothing_is_changed_or_trained_anew(missing, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    (run.path / "result.json").unlink()
    words = "was trained to step 12, and its checkpoints are gone"
    if missing == "damaged":
        for step in ("8", "12"):
            (run.path / "checkpoints" / step / "seal.json").unlink()
        words = "is whole .that of step 12 has no seal.json; that of step 8 has no seal.json.. Nothing was changed"
    else:
        shutil.rmtree(run.path / "checkpoints")
        if missing == "moved":
            (run.path / "checkpoints").mkdir()
    before = sorted(run.path.rglob("*"))
    with pytest.raises(RunError, match=words):
        trained.train(run)
    after = sorted(path for path in run.path.rglob("*") if path.name != "checkpoints")
    assert after == [path for path in before if path.name != "checkpoints"]
    assert metrics(run.path) == metrics(trained.path)
    with pytest.raises(RunError, match="is whole" if missing == "damaged" else "no checkpoint yet"):
        load(run.path)


def test_a_changed_recipe_does_not_fit_its_checkpoints(trained):
    other = eqx.tree_at(lambda state: state.step, trained.like, trained.like.step.astype("float32"))
    words = r"\(that of step 12 was saved with another recipe than recipe\.json has now: its arrays are others; that of"
    with Run.open(trained.path).checkpoints() as checkpoints, pytest.raises(RunError, match=words):
        checkpoints.newest(other)


def test_evaluating_tells_which_checkpoint_is_damaged(trained, tmp_path, here):
    run = trained.copy(tmp_path / "run")
    flip(run.path / "checkpoints" / "12" / "state" / "_METADATA", 0.5)
    out, err = here("evaluate", run.path, "--json")
    assert json.loads(out)["examples"] == 360
    assert err.startswith("mttt: ") and err.count("\n") == 1
    assert "it has a changed state/_METADATA) and left where it is; the checkpoint of step 8 is used" in err


@pytest.fixture
def small_files(monkeypatch):
    """Files larger than a limit cannot be written, as on a full disk; the size is the limit."""
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # put back at the end, and so is the level
    level = logging.getLogger("absl").level
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    time.sleep(0.2)  # threads that still write
    # Orbax leaves coroutines behind; Python says so when it clears them away, which could be in another test.
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    gc.collect()
    sys.unraisablehook = hook
    logging.getLogger("absl").setLevel(level)


def test_a_full_disk_is_told_in_a_sentence_and_keeps_what_was_saved(trained, tmp_path, small_files):
    run = trained.copy(tmp_path / "run")
    with run.checkpoints(write=True) as checkpoints:
        small_files(2000)
        with (
            pytest.raises(NotWritten, match=r"File too large\. The checkpoint of step 12 is whole"),
            run.writing("checkpoints"),
        ):
            checkpoints.save(16, trained.like, {"next_index": 16})
        assert checkpoints.latest() == 12
        small_files(run.metrics.path.stat().st_size)
        with (
            pytest.raises(
                NotWritten, match=r"metrics\.jsonl cannot be written: File too large.*make room, and the same "
            ),
            run.writing("metrics.jsonl"),
        ):
            run.metrics.append({"kind": "train", "step": 13})
        assert checkpoints.newest(trained.like).step == 12


def test_a_step_that_is_there_is_not_overwritten(trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    with run.checkpoints(write=True) as checkpoints, pytest.raises(RunError, match="12 is there already"):
        checkpoints.save(12, trained.like, {"next_index": 12})


def test_only_checkpoints_are_deleted(trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    (run.path / "checkpoints" / "3").mkdir()
    with run.checkpoints(write=True) as checkpoints:
        checkpoints.save(16, trained.like, {"next_index": 16})
    assert sorted(os.listdir(run.path / "checkpoints")) == ["12", "16", "3"]
