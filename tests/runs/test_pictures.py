"""A folder of pictures, from the first command to a prediction."""

import os
import shutil
import signal
import time

import numpy as np
import pytest
from PIL import Image

from cli.harness import TINY, kill_at, metrics, mttt, start
from mttt.cli.main import main
from mttt.runs import Run

COLOURS = {"blue": (30, 30, 220), "green": (20, 200, 40), "red": (220, 40, 20)}
WORDS = ["train", "folder", *TINY, "--data.path", "pictures", "--data.size", "16", "--batch-size", "8"]
WORDS += ["--epochs", "6", "--checkpoint-every", "0.7", "--evaluate-every", "3", "--mixup", "0.2"]
WORDS += ["--model.mixer", "linear-attention", "--data.on-error", "skip", "--run", "run"]


def make_pictures(folder):
    """Three classes of twelve JPEGs of different sizes; one more is cut off, and one is of a kind that is not read."""
    rng = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        (folder / "pictures" / name).mkdir(parents=True)
        for number in range(12):
            height, width = rng.integers(17, 60, 2)
            noise = rng.integers(-20, 20, (height, width, 3))
            image = Image.fromarray((np.array(colour) + noise).clip(0, 255).astype(np.uint8))
            image.save(folder / "pictures" / name / f"{number}.jpg")
    whole = (folder / "pictures" / "red" / "0.jpg").read_bytes()
    (folder / "pictures" / "red" / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "pictures" / "red" / "phone.heic").write_bytes(b"?")


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The run that nobody disturbs, without workers."""
    folder = tmp_path_factory.mktemp("reference")
    make_pictures(folder)
    out, _ = mttt(*WORDS, "--workers", "0", cwd=folder)
    assert "Skipped 1 image that cannot be used" in out
    assert "1 file or folder beside them is not read: red/phone.heic" in out
    return folder


def test_a_killed_run_goes_on_with_other_workers_and_ends_alike(reference, tmp_path):
    make_pictures(tmp_path)
    code, _ = kill_at(12, [*WORDS, "--workers", "2"], tmp_path, "run")  # an epoch has 4 steps and a bit
    assert code == -signal.SIGKILL
    mttt("train", "--run", "run", "--workers", "1", cwd=tmp_path)
    assert metrics(tmp_path / "run") == metrics(reference / "run")
    results = [Run.open(folder / "run").result for folder in (tmp_path, reference)]
    assert results[0] == results[1]
    assert results[0]["skipped"] == 1
    assert [line["name"] for line in metrics(tmp_path / "run") if line["kind"] == "skipped"] == ["red/cut.jpg"]


def test_pictures_are_predicted_and_evaluated(reference, here):
    out, _ = here("predict", "run", "pictures/blue/3.jpg", cwd=reference)
    assert all(colour in out for colour in COLOURS)
    out, _ = here("evaluate", "run")
    assert "held-out images" in out


def test_a_bad_picture_stops_a_run_that_may_not_skip(reference, here):
    words = [word for word in WORDS if word not in ("--data.on-error", "skip")]
    _, err = here(*words[:-1], "stopped", "--workers", "0", cwd=reference, code=1)
    assert "red/cut.jpg: cannot be read" in err
    assert "train --run stopped --data.on-error skip" in err
    here("train", "--run", "stopped", "--data.on-error", "skip", "--workers", "0", cwd=reference)
    assert Run.open(reference / "stopped").result == Run.open(reference / "run").result


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["folder"], "--data.path is missing: a folder of class folders"),
        (["folder", "--data.path", "nowhere"], "--data.path nowhere: there is no such file or folder"),
        (
            ["--data", "parquet", "--data.path", "pictures"],
            "--data parquet: pictures is of the kind folder; choose that",
        ),
        (["--data", "foldr"], "Did you mean folder?"),
        (["cifar10-patches"], "--data.path is missing: cifar-10-binary.tar.gz"),
        (["folder", "--data.path", "pictures", "--workers", "-1"], "--workers -1: must"),
        (
            ["folder", "--data.path", "pictures", "--data.augment.magnitude", "11"],
            "--data.augment.magnitude 11: must be 0 to 10",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(words, reason, reference, monkeypatch, capsys):
    monkeypatch.chdir(reference)
    with pytest.raises(SystemExit) as exit:
        main(["train", *words])
    assert exit.value.code == 2
    assert reason in capsys.readouterr().err


def test_a_run_knows_its_data(reference, tmp_path, here):
    """Other classes or other images are refused; predicting needs none of them."""
    make_pictures(tmp_path)
    shutil.copytree(reference / "run", tmp_path / "run")
    before, _ = here("predict", "run", "pictures/blue/3.jpg", cwd=tmp_path)
    (tmp_path / "pictures" / "blue").rename(tmp_path / "pictures" / "yellow")
    after, _ = here("predict", "run", "pictures/yellow/3.jpg")
    assert after == before.replace("pictures/blue", "pictures/yellow")
    for words in (["evaluate", "run"], ["train", "--run", "run"]):
        _, err = here(*words, code=2)
        assert "are not what they were when it began" in err
        assert "yellow" in err


def test_a_signal_to_all_processes_saves(reference, tmp_path):
    """`timeout` and batch systems signal workers too."""
    make_pictures(tmp_path)
    process = start([*WORDS, "--epochs", "300", "--workers", "1"], tmp_path, group=True)
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not (metrics.exists() and '"step": 6,' in metrics.read_text()):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert "Stopped and saved" in out


def test_pictures_none_of_which_can_be_used_stop_the_run(tmp_path, here):
    make_pictures(tmp_path)
    for path in (tmp_path / "pictures").glob("*/*.jpg"):
        path.write_bytes(b"no picture")
    _, err = here(*WORDS, "--log-every", "1", "--workers", "0", cwd=tmp_path, code=1)
    assert "no training example can be used" in err
