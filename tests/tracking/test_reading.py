"""From a file that grows, and is rewound, to numbers with names."""

import json
import threading

import pytest

from mttt.tracking.follow import follow
from mttt.tracking.scalars import scalars
from mttt.tracking.tail import Rewound, Tail
from mttt.tracking.tracker import Tracked, Tracker
from tracking.records import SKIPPED, append, evaluation, train, write


def test_numbers_have_the_names_that_people_look_for():
    assert scalars(train(1)) == {"epoch": 0.1, "train/loss": 1.0, "train/accuracy": 0.5, "train/learning_rate": 1e-3}
    assert scalars(train(2))["train/examples_per_second"] == 100.0
    found = scalars(evaluation(3) | {"bits_per_byte": 1.3})
    assert (found["eval/loss"], found["eval/accuracy"], found["eval/bits_per_byte"]) == (0.9, 0.6, 1.3)
    assert (found["inner_loss/layer1/before"], found["inner_loss/layer1/after"]) == (2.0, 1.0)
    assert (found["inner_loss/layer2/head1/before"], found["inner_loss/layer2/head2/before"]) == (3.0, 5.0)
    assert set(scalars(evaluation(3, None))) == {"epoch", "eval/loss", "eval/accuracy"}
    assert scalars(SKIPPED) == {}


def test_runs_of_earlier_versions_have_no_heads():
    record = {name: value for name, value in evaluation(3).items() if name != "inner_losses_by_head"}
    assert scalars(record)["inner_loss/layer2/after"] == 3.0
    assert not any("head" in name for name in scalars(record))


def test_lines_are_read_once_and_when_they_are_whole(tmp_path):
    tail = Tail(tmp_path / "metrics.jsonl")
    assert tail.new() == []  # no file yet
    write(tmp_path, [train(1), train(2)], end="")
    assert tail.new() == [train(1)]
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write("\n" + json.dumps(train(3))[:10])
    assert tail.new() == [train(2)] and tail.new() == []
    (tmp_path / "metrics.jsonl").unlink()
    assert tail.new() == []  # the run is gone
    tail.close()


def test_a_file_that_was_rewound_is_read_anew(tmp_path):
    tail = Tail(tmp_path / "metrics.jsonl")
    write(tmp_path, [train(1), train(2)])
    assert len(tail.new()) == 2
    write(tmp_path, [train(1)])
    append(tmp_path, train(2, 2.0), train(3))
    with pytest.raises(Rewound):
        tail.new()
    assert tail.new() == [train(1), train(2, 2.0), train(3)]
    tail.close()


class Listed(Tracker):
    made: list["Listed"] = []  # noqa: RUF012
    where = ""

    def __init__(self):
        self.heard, self.closed = [], False
        self.made.append(self)

    def record(self, record):
        self.heard.append(record["step"])

    def close(self):
        self.closed = True


def test_a_tracker_hears_everything_until_it_is_over_and_anew_after_a_rewind(tmp_path):
    Listed.made.clear()
    over = threading.Event()
    write(tmp_path, [train(1), train(2)])
    thread = threading.Thread(target=follow, args=(Tail(tmp_path / "metrics.jsonl"), Listed, over))
    thread.start()
    while not Listed.made or len(Listed.made[0].heard) < 2:
        assert thread.is_alive()
    write(tmp_path, [train(1)])
    append(tmp_path, train(2), train(3))
    over.set()
    thread.join(10)
    assert [(one.heard, one.closed) for one in Listed.made] == [([1, 2], True), ([1, 2, 3], True)]


def test_two_runs_of_one_name_have_unique_names():
    one, other = (Tracked(path, id, {}) for path, id in (("a/seed-0", "0123456789"), ("b/seed-0/", "abcdefghij")))
    assert (one.name, other.name) == ("seed-0", "seed-0")
    assert (one.unique_name, other.unique_name) == ("seed-0-012345", "seed-0-abcdef")
