"""Rows times seeds, killed and resumed; and the reports of what is there."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import small_grid
from small_grid import ROWS, SCALE, work
from test_claims import TRUE, evidence

from mttt.cli.main import main
from mttt.data import describe
from mttt.outer import NotFinite
from mttt.recipes import encode
from mttt.runs import Run, RunError
from mttt.runs.header import read_header, write_header
from mttt.studies import SCALES, STUDIES, Job, Place, find, write_claims, write_report
from mttt.studies.claims import claims
from mttt.studies.reports import Findings

# Embedding 80, positions 256, projections 1088, norms 96, MLP 2128, head 442; MTTT-MLP has W₀ (2 heads of 552) and
# scales and shifts of Decoder LN (64) besides.
PARAMETERS = (4090, 4090 + 2 * 552 + 64)


pytestmark = pytest.mark.usefixtures("standard_promotion")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, standard_promotion):
    directory = tmp_path_factory.mktemp("grid")
    watcher = work(directory)
    assert len(watcher.ended) == 4
    assert watcher.fraction == 0
    return directory


def report_of(directory, seeds=2):
    """The report of table 1."""
    findings = find(Place(SCALE, directory), seeds, "mttt study table1")
    write_report(findings, STUDIES["table1"], directory / "table1")
    return json.loads((directory / "table1" / "report.json").read_text())


def test_what_is_done_is_not_done_again(finished, tmp_path):
    directory = tmp_path / "copy"
    shutil.copytree(finished, directory)
    watcher = work(directory)
    assert (watcher.begun, watcher.fraction) == ([], 1.0)
    # From another machine came all but one run, and of that one only the training.
    run, other = (directory / "runs" / "mttt-mlp" / f"seed-{seed}" for seed in (0, 1))
    before = json.loads((run / "result.json").read_text())
    probes = json.loads((other / "other-steps.json").read_text())
    shutil.rmtree(run)
    (other / "other-steps.json").unlink()
    watcher = work(directory)
    assert [job.seed for job in watcher.begun] == [0, 1]
    assert json.loads((run / "result.json").read_text()) == before
    assert json.loads((other / "other-steps.json").read_text()) == probes
    assert set(probes) == {"0", "1"}
    assert probes["1"]["accuracy"] == json.loads((other / "result.json").read_text())["accuracy"]


def test_runs_without_their_checkpoints_serve_if_they_are_done(finished, tmp_path):
    directory = tmp_path / "copy"
    shutil.copytree(finished, directory, ignore=shutil.ignore_patterns("checkpoints"))
    assert work(directory).begun == []
    run = directory / "runs" / "mttt-mlp" / "seed-1"
    (run / "other-steps.json").unlink()
    with pytest.raises(RunError, match=r"checkpoints are not there:\n  .*mttt-mlp/seed-1\nBring"):
        work(directory)
    (run / "result.json").unlink()
    with pytest.raises(RunError, match="checkpoints are not there"):
        work(directory)


def test_a_killed_grid_ends_with_the_same_report(finished, tmp_path):
    directory = tmp_path / "killed"
    paths = [str(Path(small_grid.__file__).parent), os.environ["PYTHONPATH"]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, small_grid.__file__, str(directory)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    metrics = directory / "runs" / "mttt-mlp" / "seed-0" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (metrics.exists() and metrics.read_text().count("\n") >= 2):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    watcher = work(directory, seeds=1)
    assert [job.row.name for job, _ in watcher.ended] == ["mttt-mlp"]
    other = tmp_path / "other"
    shutil.copytree(finished, other, ignore=shutil.ignore_patterns("seed-1"))
    assert report_of(directory, seeds=1) == report_of(other, seeds=1)


def test_a_run_of_another_recipe_is_refused(finished):
    longer = dataclasses.replace(SCALE.looks["patches"], epochs=0.3)
    scale = dataclasses.replace(SCALE, looks=SCALE.looks | {"patches": longer})
    with pytest.raises(RunError, match=r"another recipe.*\n.*epochs: 0.2 there, 0.3 here"):
        work(finished, scale=scale)
    with pytest.raises(RunError, match="another recipe"):
        find(Place(scale, finished), 2, "mttt study table1")


def test_images_may_be_elsewhere(tmp_path):
    job = Job(ROWS[0], 0)

    def place(path):
        return Place(SCALES["small"], tmp_path, path)

    Run.create(place("here").path(job), encode(place("here").recipe(job)), {})
    assert place("elsewhere").run(job) is not None
    path = tmp_path / "runs" / "linear-attention" / "seed-0"
    header = read_header(path)
    header["recipe"]["batch_size"] = 9
    write_header(path, header)
    with pytest.raises(RunError) as refused:
        place("elsewhere").run(job)
    assert "batch_size: 9" in str(refused.value)
    assert "data.path" not in str(refused.value)


def test_runs_on_different_images_are_not_compared(finished, tmp_path):
    directory = tmp_path / "copy"
    shutil.copytree(finished, directory)
    path = directory / "runs" / "mttt-mlp" / "seed-1"
    header = read_header(path)
    header["data"]["train"]["names_and_labels"] = "others"
    write_header(path, header)
    with pytest.raises(RunError, match="different images"):
        find(Place(SCALE, directory), 2, "mttt study table1")


def test_a_report_has_all_seeds_that_are_there(finished):
    assert [row["seeds"] for row in report_of(finished, seeds=1)["rows"]] == [[0, 1], [0, 1]]


def test_a_run_that_diverges_is_not_tried_again(tmp_path, monkeypatch):
    tries = []

    def launch(*_, **__):
        tries.append(1)
        raise NotFinite(7, None)

    monkeypatch.setattr("mttt.studies.grid.launch", launch)
    watcher = work(tmp_path, seeds=1)
    assert [accuracy for _, accuracy in watcher.ended] == [None, None]
    assert "step 7" in watcher.said[0]
    assert work(tmp_path, seeds=1).begun == [] and len(tries) == 2
    findings = find(Place(SCALE, tmp_path), 1, "mttt study table1")
    write_report(findings, STUDIES["table1"], tmp_path / "table1")
    assert "| diverged |" in (tmp_path / "table1" / "report.md").read_text()


def test_a_run_that_another_process_trains_is_left_to_it(finished, tmp_path):
    place = Place(SCALE, tmp_path)
    job = Job(ROWS[0], 0)
    shutil.copytree(finished / "runs" / "mttt-mlp", tmp_path / "runs" / "mttt-mlp")
    run = Run.create(place.path(job), encode(place.recipe(job)), describe(place.recipe(job).data.load()))
    with run.locked():
        watcher = work(tmp_path, seeds=1)
    assert watcher.left == [job]
    assert "another process" in watcher.said[0]


def test_a_report_has_what_it_should(finished):
    report = report_of(finished)
    linear, mlp = report["rows"]
    assert linear["label"] == "Linear attention, identity map"
    assert (linear["flops_relative"], linear["seeds"]) == (1.0, [0, 1])
    assert (linear["parameters"], mlp["parameters"]) == PARAMETERS
    assert linear["paper_accuracy"] == 73.0 and mlp["paper_accuracy"] == 74.6
    assert mlp["flops_relative"] > 1.2
    place = Place(SCALE, finished)
    results = [100 * place.finished(Job(ROWS[1], seed)).result["accuracy"] for seed in (0, 1)]
    assert mlp["accuracies"] == results
    assert mlp["mean"] == pytest.approx(sum(results) / 2)
    assert [claim["number"] for claim in report["claims"]] == [1, 2, 9, 21]
    assert all(claim["verdict"] == "not measured" for claim in report["claims"])
    text, page = ((finished / "table1" / f"report.{end}").read_text() for end in ("md", "html"))
    for words in ("MTTT-MLP", f"{mlp['mean']:.2f} ± {mlp['std']:.2f}", "74.6", "Not complete"):
        assert words in text and words in page
    assert "table1-accuracy.svg" in text and (finished / "table1" / "table1-accuracy.svg").is_file()
    assert "<svg" in page and "src=" not in page and "<link" not in page, "one file that needs no other"


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(SCALES, "small", SCALE)
    monkeypatch.chdir(tmp_path)

    def run(*words):
        with pytest.raises(SystemExit) as stop:
            main(["study", *words])
        return stop.value.code, "".join(capsys.readouterr())

    code, text = run("table1", "--report")
    assert code == 2 and "no finished run" in text
    code, text = run("table1", "--only", "linear-atention")
    assert code == 2 and "Did you mean linear-attention?" in text
    code, text = run("table3", "--scale", "paper", "--only", "pixels-self-attention")
    assert code == 2 and "no row is left" in text
    code, text = run("table1", "--scale", "paper")
    assert code == 2 and "--data is missing" in text
    code, text = run("table1", "--seeds", "0")
    assert code == 2 and "--seeds 0: must" in text
    code, text = run("table1", "--only", "linear-attention", "--seeds", "1")
    assert (
        code == 0
        and "1 run to do" in text
        and "run 1 of 1: linear-attention, seed 0" in text
        and "seed 0: accuracy" in text
    )
    assert "Not complete" in Path("studies/small/table1/report.md").read_text()
    code, text = run("table1", "--only", "linear-attention", "--seeds", "1")
    assert code == 0 and "All is done" in text
    code, text = run("claims", "--seeds", "1", "--report")
    assert code == 0 and "12. Learning at test time matters" in text
    assert len(json.loads(Path("studies/small/claims/report.json").read_text())["claims"]) == 13
    monkeypatch.setitem(STUDIES, "table1", dataclasses.replace(STUDIES["table1"], rows=ROWS))
    code, text = run("table1", "--seeds", "1")
    assert code == 0 and "1 run to do" in text and "measuring a training step of 2 rows" in text
    linear, mlp = json.loads(Path("studies/small/table1/report.json").read_text())["rows"]
    assert linear["step_time_relative"] == 1.0 and mlp["step_time_relative"] > 0
    code, text = run("table1", "--seeds", "1")
    assert code == 0 and "measuring" not in text
    code, text = run("table1", "--only", "linear-attention", "--trial")
    assert code == 0 and "loss " in text and "s with compiling" in text


def browser():
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


def figures_of(page, tmp_path):
    """What a browser lays out: the name, the width and the number of lines of every figure."""
    probe = page.with_name("probe.html")
    script = (
        "<script>document.title = JSON.stringify([...document.querySelectorAll('figure')].map(f => "
        "[f.id, f.querySelector('svg').getBoundingClientRect().width, f.querySelectorAll('path').length]))</script>"
    )
    probe.write_text(page.read_text().replace("</body>", f"{script}</body>"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    shown = subprocess.run([browser(), *options, probe.as_uri()], capture_output=True, text=True, timeout=120)
    return json.loads(shown.stdout.split("<title>")[1].split("</title>")[0])


PICTURES = {
    "table1": ["table1-accuracy"],
    "table2": ["table2-accuracy"],
    "table3": ["table3-accuracy"],
    "figure1-left": ["accuracy-against-steps"],
    "figure1-right": ["inner-losses-patches", "inner-losses-pixels"],
    "controls": ["controls-accuracy", "other-steps"],
    "claims": ["growth"],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """All reports, from the numbers of the paper."""
    directory = tmp_path_factory.mktemp("whole")
    found = evidence(TRUE)
    findings = Findings(
        Place(SCALES["small"], directory), SCALES["small"].seeds, found, claims(found), "mttt study claims"
    )
    for study in STUDIES.values():
        write_report(findings, study, directory / study.name)
    write_claims(findings, directory / "claims")
    return directory


@pytest.mark.parametrize("name", PICTURES)
def test_every_report_is_whole(whole, name):
    text = (whole / name / "report.md").read_text()
    assert all(f"{picture}.svg" in text for picture in PICTURES[name])
    assert {path.stem for path in (whole / name).glob("*.svg")} == set(PICTURES[name])
    report = json.loads((whole / name / "report.json").read_text())
    assert report["claims"] and all(claim["verdict"] == "holds" for claim in report["claims"])
    assert "Not complete" not in text and "not measured" not in text
    if name == "table3":
        assert "| tokens | ViT | layer |" in text and "| pixels | Small | Linear attention, identity map |" in text
        assert "| coarse | Tiny | MTTT-MLP, from patches |" in text and "paper: FLOPs" in text


@pytest.mark.skipif(browser() is None, reason="no Chromium is installed")
def test_a_browser_shows_every_picture(whole, tmp_path):
    for name, pictures in PICTURES.items():
        figures = figures_of(whole / name / "report.html", tmp_path)
        assert [picture for picture, _, _ in figures] == pictures
        assert all(width > 200 and paths > 10 for _, width, paths in figures)
