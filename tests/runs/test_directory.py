"""The directory of a run: links in it, and whose it is while it is trained."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from mttt.data import describe, training_batches
from mttt.outer import Interrupt
from mttt.recipes import encode
from mttt.report import complete_figures
from mttt.runs import InUse, NotWritten, Run, RunError
from mttt.training.keeper import RunKeeper
from runs.conftest import RECIPE, Nobody


@pytest.mark.parametrize(
    "name",
    [
        ".lock",
        "recipe.json",
        "metrics.jsonl",
        "result.json",
        "other-steps.json",
        "checkpoints",
        "checkpoints/12",
        "checkpoints/writing-16",
        "checkpoints/12/state/d",
        "checkpoints/12/seal.json",
        "figures",
        "figures/learning-curves.png",
    ],
)
def test_a_link_in_a_run_is_refused_before_it_is_followed(name, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    target = tmp_path / "elsewhere"
    if (run.path / name).exists():
        (run.path / name).rename(target)
    else:
        target.write_text("mine")
    (run.path / name).symlink_to(target)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match=f"{name} is a symbolic link, and links in a run are not followed"):
        Run.open(run.path)
    if name.startswith("checkpoints"):
        with pytest.raises(RunError, match="is a symbolic link"), run.checkpoints(write=True):
            pass
    if name == ".lock":
        with pytest.raises(RunError, match=r"\.lock is not a regular file"), run.locked():
            pass
    if name == "metrics.jsonl":
        with pytest.raises(RunError, match="is not a regular file"):
            run.metrics.append({"kind": "train", "step": 3})
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_only_regular_files_are_opened(make, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    for name in (".lock", "metrics.jsonl"):
        (run.path / name).unlink(missing_ok=True)
        make(run.path / name)
    with pytest.raises(RunError, match=r"\.lock is not a regular file"), run.locked():
        pass
    with pytest.raises(RunError, match=r"metrics\.jsonl is not a regular file"):
        run.metrics.append({"kind": "train", "step": 3})


def test_the_run_itself_may_be_a_link_and_a_lock_empties_nothing(trained, tmp_path):
    trained.copy(tmp_path / "there")
    (tmp_path / "here").symlink_to("there")
    run = Run.open(tmp_path / "here")
    (run.path / ".lock").write_text("kept")
    with run.locked(), run.writing("result.json"):
        pass
    assert (run.path / ".lock").read_text() == "kept"
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(RunError, match="exists already"):
        Run.create(tmp_path / "dangling", {}, {})


def anew(run, trained):
    shutil.rmtree(run.path)
    Run.create(run.path, encode(RECIPE), describe(trained.data))


REMOVALS = {
    "deleted": lambda run, trained: shutil.rmtree(run.path),
    "renamed": lambda run, trained: run.path.rename(run.path.with_name("moved")),
    "deleted and begun anew": anew,
    "without its lock": lambda run, trained: (run.path / ".lock").unlink(),
    "a file": lambda run, trained: (shutil.rmtree(run.path), run.path.write_text("?")),
}


@pytest.mark.parametrize("name", REMOVALS)
def test_a_run_that_is_gone_or_another_is_not_written(name, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    with run.locked():
        REMOVALS[name](run, trained)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        with pytest.raises(NotWritten, match="was deleted, moved or replaced"):
            run.finish({"step": 12})
        with (
            pytest.raises(RunError, match=r"was deleted, moved or replaced|is gone|Not a directory"),
            run.checkpoints(write=True),
        ):
            pass
        with pytest.raises(NotWritten, match="was deleted, moved or replaced"), run.writing("metrics.jsonl"):
            raise AssertionError("it is asked before anything is written")
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_training_stops_when_its_run_is_moved(trained, tmp_path):
    run = Run.create(tmp_path / "run", encode(RECIPE), describe(trained.data))

    class Mover(Nobody):
        def at(self, step):
            if step == 5:
                run.path.rename(tmp_path / "moved")

    with run.locked(), pytest.raises(NotWritten, match="train the run where it is now"):
        trained.train(run, Mover())
    assert os.listdir(tmp_path) == ["moved"]
    moved = Run.open(tmp_path / "moved")
    with moved.checkpoints() as checkpoints:
        assert checkpoints.newest(trained.like).step == 4
    assert [record["step"] for record in moved.metrics.read()] == [2, 4]


def test_a_run_that_was_replaced_before_it_was_locked_is_not_trained(trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    anew(run, trained)
    with pytest.raises(NotWritten, match="was replaced by another run"), run.locked():
        pass
    other = Run.open(run.path)
    with other.locked(), pytest.raises(InUse), run.locked():
        pass


@pytest.mark.parametrize(
    ("error", "number"), [(BrokenPipeError(32, "?"), signal.SIGPIPE), (OSError(5, "?"), signal.SIGHUP)]
)
def test_where_nobody_sees_the_output_the_training_is_to_save_itself(error, number, trained, tmp_path):
    class Gone(Nobody):
        def record(self, record):
            raise error

    run, plan, interrupt = trained.copy(tmp_path / "run"), trained.prepared.plan, Interrupt()
    with run.checkpoints() as checkpoints, training_batches(trained.data.train, 64, seed=0) as batches:
        keeper = RunKeeper(run, checkpoints, batches, plan, interrupt, Gone())
        keeper.write({"kind": "skipped", "step": 12, "part": "train", "name": "a", "reason": "b"})
    assert keeper.stop() == number


def test_a_hangup_saves_like_other_signals_unless_it_is_ignored():
    before = signal.getsignal(signal.SIGHUP)
    with Interrupt() as interrupt:
        assert signal.getsignal(signal.SIGHUP) != before
        signal.raise_signal(signal.SIGHUP)
        assert interrupt.requested == signal.SIGHUP
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGHUP) == before
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
    try:
        with Interrupt() as interrupt:
            signal.raise_signal(signal.SIGHUP)
            assert interrupt.requested is None
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("module", ["jax", "rich", "mttt.cli.memory"])
def test_an_interrupt_while_importing_ends_without_a_traceback(module, tmp_path):
    program = f"""if True:
        import os, signal, sys
        class Import:
            def find_spec(self, name, path=None, target=None):
                if name == {module!r}:
                    os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Import())
        from mttt.cli.main import main
        main(["presets"])"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_each_missing_figure_is_drawn(trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    before = (run.figures / "learning-curves.png").stat().st_mtime_ns
    assert complete_figures(run) == []
    (run.figures / "inner-losses.png").unlink()
    assert complete_figures(run) == [run.figures / "inner-losses.png"]
    assert (run.figures / "learning-curves.png").stat().st_mtime_ns == before
    shutil.rmtree(run.figures)
    assert len(complete_figures(run)) == 2
