"""mttt runs: a table of what is there, whatever state it is in."""

import json
import os
from dataclasses import replace

import pytest

from mttt.data import describe
from mttt.recipes import PRESETS, encode
from mttt.runs import Run, record_origin

DIGITS = PRESETS["digits"].recipe


@pytest.fixture(scope="module")
def data():
    return describe(DIGITS.data.load())


@pytest.fixture
def place(tmp_path, data):
    """A finished run, one at epoch 12, one that was never trained, and three that are broken."""
    runs = tmp_path / "runs"

    def create(name, recipe=DIGITS):
        (runs / name).parent.mkdir(parents=True, exist_ok=True)
        return Run.create(runs / name, encode(recipe), data)

    done = create("digits")
    done.finish({"step": 1347, "accuracy": 0.9666, "loss": 0.1, "inner_losses": None, "examples": 360, "skipped": 0})
    half = create("study/row/seed-1", replace(DIGITS, seed=1))
    place = {"step": 539, "epoch": 12.0, "loss": 1.0, "examples_per_second": None}
    half.metrics.append({"kind": "evaluation", **place, "accuracy": 0.5, "inner_losses": None, "examples": 360})
    half.metrics.append({"kind": "train", **place, "accuracy": 0.4, "rate": 0.001})
    with half.metrics.path.open("a") as file:
        file.write('{"kind": "tra')
    record_origin(create("tuned"), {"run": "runs/digits", "step": 1347, "arrays": "00"})
    for name, recipe in (("torn", "{"), ("other", '{"recipe": {}, "format": 99}')):
        (runs / name).mkdir()
        (runs / name / "recipe.json").write_text(recipe)
    (create("wrong").path / "result.json").write_text('{"step": ')
    (runs / ".being-made").mkdir()
    (runs / "loop").symlink_to(runs)
    return tmp_path


def test_every_run_is_a_row_and_a_broken_one_says_why(place, here):
    rows = {row["run"]: row for row in json.loads(here("runs", "--json", cwd=place)[0])}
    assert set(rows) == {f"runs/{n}" for n in ("digits", "study/row/seed-1", "tuned", "torn", "other", "wrong")}
    done, half = rows["runs/digits"], rows["runs/study/row/seed-1"]
    assert (done["finished"], done["accuracy"], done["differs"]) == (True, 0.9666, [])
    assert (half["finished"], half["epoch"], half["epochs"], half["accuracy"]) == (False, 12.0, 30.0, 0.5)
    assert half["differences"] == [{"path": "seed", "preset": 0, "run": 1}]
    assert rows["runs/tuned"]["from"]["run"] == "runs/digits"
    assert all("error" in rows[f"runs/{name}"] for name in ("torn", "other", "wrong"))
    assert "format 99" in rows["runs/other"]["error"]


def test_the_table_fits_80_columns_and_shows_who_is_training(place, here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with Run.open(place / "runs" / "study" / "row" / "seed-1").locked():
        out, _ = here("runs", cwd=place)
    assert max(map(len, out.splitlines())) <= 80
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "30 done" in lines["digits"] and "96.7%" in lines["digits"]
    assert "12 of 30" in lines["study/row/seed-1"] and lines["study/row/seed-1"].split()[-1] == "now"
    assert "0 of 30" in lines["tuned"] and "now" not in lines["tuned"]


def test_a_run_that_cannot_be_read_says_only_why(place, here):
    """Other runs are in the table already."""
    (place / "runs" / "pipe").mkdir()
    os.mkfifo(place / "runs" / "pipe" / "recipe.json")
    out, _ = here("runs", cwd=place)
    assert "is a named pipe, not a regular file" in out and "runs here" not in out


def test_where_there_is_nothing_it_says_how_to_make_a_run(tmp_path, here):
    out, _ = here("runs", cwd=tmp_path)
    assert "There are no runs in runs. Make one:" in out and "train digits" in out
    assert json.loads(here("runs", "--json")[0]) == []
    (tmp_path / "file").write_text("")
    assert "file is not a directory" in here("runs", "file", code=2)[1]
