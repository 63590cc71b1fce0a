"""What goes wrong in one of two processes ends both, with the same message, and nothing that was saved is lost."""

import resource

import numpy as np
from PIL import Image

from cli.harness import TINY, metrics
from devices.test_processes import WORDS, end, pair, reach
from mttt.runs import Run

PICTURES = 24


def make_pictures(tmp_path):
    """Pictures of two classes. One of them ends too early; only one of two processes has to read it."""
    rng = np.random.default_rng(0)
    for number in range(PICTURES):
        path = tmp_path / "pictures" / "train" / "ab"[number % 2] / f"{number:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8)).save(path)
    broken = tmp_path / "pictures" / "train" / "a" / "08.png"
    broken.write_bytes(broken.read_bytes()[:300])


def test_a_picture_that_one_process_cannot_read_stops_both(tmp_path):
    make_pictures(tmp_path)
    words = ["train", "folder", "--data.path", "pictures", "--data.size", "16", *TINY, "--batch-size", "4"]
    words += ["--model.mixer", "linear-attention", "--log-every", "1", "--epochs", "1"]
    words += ["--workers", "0", "--run", "run"]
    codes, printed = end(pair(words, tmp_path))
    assert codes == [1, 1], printed
    for _, err in printed:
        assert "train/a/08.png: cannot be read: image file is truncated. Replace or delete" in err, printed
        assert "Traceback" not in err, err
    steps = [line["step"] for line in metrics(tmp_path / "run") if line["kind"] == "train"]
    with Run.open(tmp_path / "run").checkpoints() as checkpoints:
        assert checkpoints.latest() == steps[-1] > 0
    codes, printed = end(pair([*words, "--data.on-error", "skip"], tmp_path))
    assert codes == [0, 0], printed
    skipped = [line["name"] for line in metrics(tmp_path / "run") if line["kind"] == "skipped"]
    assert skipped == ["train/a/08.png"]


def test_a_full_disk_in_one_process_ends_both(tmp_path):
    """With sharded parameters both of them write checkpoints."""
    words = [*WORDS, "--run", "run", "--devices.parameters", "sharded", "--optimizer.schedule", "constant"]
    words += ["--epochs", "0.5"]
    processes = pair(words, tmp_path)
    reach(processes, tmp_path / "run" / "metrics.jsonl", 3)
    resource.prlimit(processes[1].pid, resource.RLIMIT_FSIZE, (100, 100))  # no file may be larger, as on a full disk
    codes, printed = end(processes)
    assert codes == [2, 2], printed  # as with one process
    assert "process 1 failed: " in printed[0][1], printed
    assert all("Traceback" not in err for _, err in printed), printed
    codes, printed = end(pair([*words, "--epochs", "0.6"], tmp_path))  # which also makes it longer
    assert codes == [0, 0], printed
    assert "run is now trained to epoch 0.6 instead of 0.5" in printed[0][0], printed
