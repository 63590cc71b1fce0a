import json
import os
import stat
import threading

import pytest

from mttt.files import NotRegular, TooLarge, contents, regular, temporary, whole, write_json, write_text


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})

    def fail():
        with whole(path) as place:
            place.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert json.loads(path.read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_dangling_link_gets_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_device_stays_a_device(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    before = os.stat("/dev/null")
    write_text(link, "gone")
    assert os.stat("/dev/null").st_rdev == before.st_rdev
    assert link.is_symlink()


def test_a_pipe_gets_the_text(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    text = "x" * 300_000  # more than a pipe holds
    while True:
        try:
            write_text(pipe, text)
            break
        except OSError:  # the reader is not there yet
            pass
    reader.join(timeout=10)
    assert got == [text]


def test_a_pipe_without_a_reader_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe that nobody reads"):
        write_text(tmp_path / "pipe", "x")


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_text("mine")
    temporary(tmp_path / "a").symlink_to(other)
    write_text(tmp_path / "a", "new")
    assert other.read_text() == "mine"
    assert (tmp_path / "a").read_text() == "new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("a" * 255)
    write_text(path, "new")
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("what", ["pipe", "directory", "device"])
def test_only_regular_files_are_read(tmp_path, what):
    path = tmp_path / "x"
    {"pipe": os.mkfifo, "directory": os.mkdir, "device": lambda p: p.symlink_to("/dev/zero")}[what](path)
    with pytest.raises(NotRegular, match="not a regular file"):
        regular(path)


def test_a_link_to_a_file_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert contents(tmp_path / "b", 3) == b"abc"
    with pytest.raises(TooLarge, match="3 bytes; at most 2"):
        contents(tmp_path / "b", 2)
