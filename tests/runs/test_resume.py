"""Killing a run and going on with it."""

import random
import signal
import time

import numpy as np
import pytest

from cli.harness import TINY, kill_at, metrics, mttt, start
from mttt.data import describe
from mttt.outer import Interrupt, Interrupted
from mttt.recipes import encode
from mttt.runs import Run
from runs.conftest import RECIPE

# 44 steps. MTTT-Linear has an inner loop, and is traced and compiled sooner than MTTT-MLP.
WORDS = ["train", "digits", *TINY, "--model.mixer", "mttt-linear", "--epochs", "2"]
WORDS += ["--checkpoint-every", "0.2", "--evaluate-every", "0.5"]


def arrays(run):
    """Every array of the newest checkpoint, as it is on disk."""
    import orbax.checkpoint as ocp

    with Run.open(run).checkpoints() as checkpoints:
        step = checkpoints.latest()
        folder = (run / "checkpoints" / str(step) / "state").absolute()
        return step, checkpoints._orbax.restore(folder, args=ocp.args.StandardRestore())


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The run that nobody disturbs."""
    folder = tmp_path_factory.mktemp("reference")
    mttt(*WORDS, "--run", "run", cwd=folder)
    return folder / "run"


@pytest.mark.filterwarnings("ignore")  # Orbax warns that no target tree is given
def assert_same(run, reference):
    assert metrics(run) == metrics(reference)
    (step, got), (expected_step, expected) = arrays(run), arrays(reference)
    assert step == expected_step == 44
    assert set(got) == set(expected)
    assert len(got) > 40
    for name in expected:
        np.testing.assert_array_equal(np.asarray(got[name]), np.asarray(expected[name]), err_msg=name)
    assert Run.open(run).result == Run.open(reference).result


@pytest.mark.filterwarnings("ignore")
def test_kills_at_random_moments_signals_and_half_written_checkpoints_change_nothing(reference, tmp_path, here):
    """Two kills, and between them a signal that saves and stops."""
    first, signalled, second = (random.randrange(low, low + 9, 3) for low in (3, 15, 30))
    print("kills after steps", first, second, "and a signal after", signalled)
    words, run = [*WORDS, "--run", "run"], tmp_path / "run"
    code, _ = kill_at(first, words, tmp_path, "run")
    assert code == -signal.SIGKILL
    code, out = kill_at(signalled, words, tmp_path, "run", signal.SIGTERM)
    assert code == 128 + signal.SIGTERM
    assert "train --run run" in out
    with Run.open(run).checkpoints() as checkpoints:
        saved = checkpoints.latest()
    assert saved >= signalled
    # What a kill in the middle of a save leaves: a temporary directory, and metrics with half a line.
    half = run / "checkpoints" / f"writing-{saved + 1}"
    (half / "state").mkdir(parents=True)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "train", "st')
    code, _ = kill_at(second, words, tmp_path, "run")
    assert code == -signal.SIGKILL
    assert Run.open(run).result is None
    here("train", "--run", "run", cwd=tmp_path)  # a run knows its recipe
    assert_same(run, reference)


def test_a_second_signal_kills(tmp_path):
    process = start([*WORDS, "--epochs", "500", "--run", "run"], tmp_path)
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not (metrics.exists() and '"step": 3,' in metrics.read_text()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    # Signals of one kind that come together are one: then it has saved itself, else it is dead.
    assert process.returncode in (-signal.SIGINT, 130)


def test_after_the_first_signal_the_next_does_what_it_does_by_default():
    before = signal.getsignal(signal.SIGTERM)
    with Interrupt() as interrupt:
        signal.raise_signal(signal.SIGTERM)
        assert interrupt.requested == signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_while_metrics_are_written_still_saves(trained, tmp_path):
    """It comes after the loop has decided that this step needs no checkpoint."""

    class Impatient:
        def at(self, step):
            pass

        def record(self, record):
            signal.raise_signal(signal.SIGTERM)

    run = Run.create(tmp_path / "run", encode(RECIPE), describe(trained.data))
    with pytest.raises(Interrupted) as stopped:
        trained.train(run, Impatient())
    with run.checkpoints() as checkpoints:
        assert checkpoints.latest() == stopped.value.step
    assert RECIPE.log_every <= stopped.value.step < 4, "where the next checkpoint would have been"


def test_an_existing_run_is_never_overwritten(reference, tmp_path, here):
    before = {path: path.stat().st_mtime_ns for path in reference.rglob("*") if path.is_file()}
    out, _ = here(*WORDS, "--run", reference, cwd=tmp_path)
    assert "is finished" in out
    _, err = here(*WORDS, "--seed", "5", "--run", reference, code=2)
    assert "seed: 0 there, 5 here" in err
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    _, err = here(*WORDS, "--run", "other", code=2)
    assert "is not a run" in err
    with Run.open(reference).locked():
        pass
    after = {path: path.stat().st_mtime_ns for path in reference.rglob("*") if path.is_file() and path.name != ".lock"}
    assert after == {path: time for path, time in before.items() if path.name != ".lock"}


def test_two_processes_do_not_train_one_run(reference):
    from mttt.runs import RunError

    run = Run.open(reference)
    with run.locked(), pytest.raises(RunError, match="another process"), run.locked():
        pass


def test_a_last_step_that_breaks_the_model_does_not_finish_the_run(tmp_path, here):
    words = ["train", "digits", *TINY, "--run", "run", "--epochs", "0.1", "--optimizer.rate", "2e9"]
    _, err = here(*words, "--optimizer.warmup", "0", cwd=tmp_path, code=1)
    assert "was not finite at step" in err
    assert Run.open(tmp_path / "run").result is None


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_checkpoint(tmp_path, here):
    """A rate that explodes after the first checkpoint: warm-up takes it up slowly."""
    words = ["train", "digits", *TINY, "--run", "run", "--epochs", "4", "--checkpoint-every", "0.04"]
    _, err = here(*words, "--optimizer.rate", "2e9", "--optimizer.warmup", "0.9", cwd=tmp_path, code=1)
    assert "was not finite at step" in err
    assert "is kept" in err
    with Run.open(tmp_path / "run").checkpoints() as checkpoints:
        kept = checkpoints.latest()
    assert f"the checkpoint of step {kept} is kept" in err
    assert int(err.split("finite at step ")[1].split(";")[0]) > kept
