"""Lists of tar files that are kept: one that is damaged is made anew."""

import hashlib
import io
import os
import pickle

import numpy as np
import pytest

from data.pictures import making
from mttt.data.pictures import members
from mttt.data.pictures.headers import Member
from mttt.data.pictures.index import Index, load_index, save_index
from mttt.data.pictures.members import list_members


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A tar file, and the list of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(members, "_SLOW", -1.0)
    path = making.tar(tmp_path / "a.tar", {"0.png": making.picture(), "\udcff.png": b"x"})
    list_members(path)
    (file,) = (tmp_path / "cache" / "mttt" / "tar").iterdir()
    return path, file


def test_what_is_kept_is_what_was_found(kept):
    index = Index([Member("a", 512, 3), Member("b\udcff\n", 2048, 0)], ["c (a link)", "d"])
    save_index(kept[1], index)
    assert load_index(kept[1]) == index
    save_index(kept[1], Index([], []))
    assert load_index(kept[1]) == Index([], [])


def sealed(**arrays):
    """A list with a digest that is right, and something else in it."""
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    return hashlib.sha256(packed.getvalue()).digest() + packed.getvalue()


class Harm:
    def __reduce__(self):
        return os.mkdir, ("harm",)


NOTHING = np.zeros(0, np.uint8)
DAMAGE = {
    "empty": lambda data: b"",
    "text": lambda data: b"broken",
    "cut": lambda data: data[:-100],
    "flipped in the digest": lambda data: data[:5] + bytes([data[5] ^ 1]) + data[6:],
    "flipped": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "pickle": lambda data: pickle.dumps(Harm()),
    "pickle in it": lambda data: sealed(names=np.array([Harm()]), offsets=NOTHING, sizes=NOTHING, ignored=NOTHING),
    "no zip file": lambda data: hashlib.sha256(b"x").digest() + b"x",
    "a zip file that is cut": lambda data: hashlib.sha256(data[32:90]).digest() + data[32:90],
    "other arrays": lambda data: sealed(names=NOTHING),
    "unequal": lambda data: sealed(names=NOTHING, ignored=NOTHING, sizes=np.zeros(3), offsets=np.zeros(3)),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_list_is_made_anew(case, kept, tmp_path, monkeypatch):
    path, file = kept
    monkeypatch.chdir(tmp_path)
    file.write_bytes(DAMAGE[case](file.read_bytes()))
    assert load_index(file) is None
    assert [member.name for member in list_members(path).members] == ["0.png", "\udcff.png"]
    assert load_index(file) is not None
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda file: os.symlink("/dev/zero", file)])
def test_a_list_that_is_no_file_is_left_alone(put, kept):
    path, file = kept
    file.unlink()
    put(file)
    assert len(list_members(path).members) == 2
    assert not file.is_file()
