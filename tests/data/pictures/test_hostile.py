"""Data that somebody made to do harm, or that something broke: refused by name, never waited for, never obeyed."""

import gzip
import io
import json
import os
import pickle
import random
import signal
import struct
import tarfile

import numpy as np
import pytest

from data.pictures import making
from data.pictures.test_sources import KINDS, SMALL, make
from mttt.data import BadData, BadExample
from mttt.data.pictures import cifar, find_data, load_picture, open_data, packed
from mttt.data.pictures.augment import Resize
from mttt.data.pictures.contact import contact_sheet
from mttt.data.pictures.inspect import inspect
from mttt.data.pictures.shards import find_shards

ESCAPE = "\x1b[31mred\x1b[0m"


@pytest.fixture(autouse=True)
def in_time(tmp_path, monkeypatch):
    """What waits for ever, or walks for ever, is stopped."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cifar, "LAYOUTS", SMALL)

    def stop(*_):
        pytest.fail("took longer than a minute")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


def endless(path):
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")
    return path


def samples(root, values, extension="cls"):
    """A WebDataset shard with images of these classes."""
    files = {}
    for i, value in enumerate(values):
        files[f"{i:04}.png"] = making.picture(i)
        files[f"{i:04}.{extension}"] = value if isinstance(value, bytes) else value.encode()
    return making.tar(root / "a.tar", files)


def imagenet(root, labels, name="val_labels.txt"):
    inner = {f"{w}.tar": making.tar_bytes({f"{w}_0.JPEG": making.picture(kind="JPEG")}) for w in ("n01", "n02")}
    making.tar(root / "ILSVRC2012_img_train.tar", inner)
    making.tar(root / "ILSVRC2012_img_val.tar", {"ILSVRC2012_val_00000001.JPEG": making.picture(kind="JPEG")})
    if labels is not None:
        (root / name).write_bytes(labels)
    return root


def idx_header(root, shape, packed_bytes):
    """An IDX file of few bytes that unpacks to many."""
    making.idx(root)
    header = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">i4").tobytes()
    (root / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(header) + packed_bytes)


def archive(path, name, size):
    """A compressed archive with a file of so many zeros, of which the first million are there."""
    member = tarfile.TarInfo(name)
    member.size = size
    path.write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + bytes(10**6)))


def other_schema(root, second):
    making.parquet(root / "train-00000-of-00002.parquet", [0, 1], names=["cat", "dog"])
    making.parquet(root / "train-00001-of-00002.parquet", **second)


def member_of(kind, root, **fields):
    """A WebDataset shard with one more member, of another kind."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as file:
        for name, data in {"0.png": making.picture(), "0.cls": b"0", "1.png": making.picture(1), "1.cls": b"1"}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
        info = tarfile.TarInfo("strange.png")
        info.type = kind
        for name, value in fields.items():
            setattr(info, name, value)
        file.addfile(info)
    root.mkdir(parents=True)
    (root / "a.tar").write_bytes(buffer.getvalue())


REFUSED = {
    "pipe as IDX": (lambda r: pipe(making.idx(r) / "train-images-idx3-ubyte.gz"), "idx3-ubyte.gz is a named pipe"),
    "device as IDX": (lambda r: endless(making.idx(r) / "t10k-labels-idx1-ubyte.gz"), "ubyte.gz is a device, not a"),
    "folder as IDX": (
        lambda r: (
            (making.idx(r, gzipped=False) / "train-images-idx3-ubyte.gz").mkdir()
            or (r / "train-images-idx3-ubyte").unlink()
        ),
        "ubyte.gz is a directory",
    ),
    "pipe as CIFAR": (lambda r: pipe(making.cifar(r, SMALL[10], 10) / "test_batch.bin"), "test_batch.bin is a named"),
    "CIFAR names without end": (
        lambda r: endless(making.cifar(r, SMALL[10], 10) / "batches.meta.txt"),
        "batches.meta.txt is a device",
    ),
    "CIFAR too long": (
        lambda r: (making.cifar(r, SMALL[10], 10) / "data_batch_2.bin").write_bytes(bytes(61461)),
        "data_batch_2.bin has 61,461 bytes; at most 61,460",
    ),
    "pipe as tar": (lambda r: pipe(r / "a.tar"), "a.tar is a named pipe"),
    "pipe as parquet": (lambda r: pipe(r / "a.parquet"), "a.parquet is a named pipe"),
    "pipe as classes": (
        lambda r: pipe(samples(r, ["0", "1"]).with_name("classes.txt")),
        "classes.txt is a named pipe",
    ),
    "pipe as labels": (lambda r: pipe(imagenet(r, None) / "val_labels.txt"), "val_labels.txt is a named pipe"),
    "IDX header of 4 GiB": (lambda r: idx_header(r, (2**20, 64, 64), b""), "says 1048576×64×64; .* 2,147,483,648"),
    "IDX header below zero": (lambda r: idx_header(r, (-1, -28, 28), b""), "says -1×-28×28; sizes are 1 or more"),
    "IDX with more than it says": (
        lambda r: idx_header(r, (30, 5, 4), gzip.compress(bytes(10**6))),
        "has more than 600 bytes after its header",
    ),
    "a link to another class": (
        lambda r: making.tree(r, {"a": 2}) and (r / "b").symlink_to("a"),
        "class folder b/ has no images",
    ),
    "shards by the billion": (
        lambda r: [making.tar(r / f"data-{n}.tar", {"0.png": b"", "0.cls": b"0"}) for n in ("00000", "99999999999")],
        "99999999998 of 100000000000 files .*: number 1, 2, 3, 4, 5, …",
    ),
    "parquet by the billion": (
        lambda r: making.parquet(r / "train-00000-of-99999999999.parquet", [0, 1]),
        "99999999998 of 99999999999 files .*: number 1, 2, 3, 4, 5, …",
    ),
    "class of 23 digits": (lambda r: samples(r, ["0", "1" * 23]), 'image 1 of all has label "1{23}"; labels must'),
    "class of 300 letters": (lambda r: samples(r, ["a", "b" * 300]), "a class name has at most 255"),
    "class of a megabyte": (lambda r: samples(r, ["a", "b" * 10**6]), "the .cls file has 1,000,000 bytes"),
    "class not UTF-8": (lambda r: samples(r, ["a", b"\xff\xfe"]), "class of 0001 cannot be read"),
    "deep JSON": (lambda r: samples(r, [b"[" * 10**5] * 2, "json"), "class of 0000 cannot be read"),
    "deep JSON label": (lambda r: samples(r, [b'{"label": ' * 10**4] * 2, "json"), "class of 0000 cannot be read"),
    "JSON of a list": (lambda r: samples(r, ["[1]"] * 2, "json"), "no object; expected"),
    "JSON label that is an object": (lambda r: samples(r, ['{"cls": {"a": 1}}'] * 2, "json"), "expected a number or"),
    "two classes of one name": (
        lambda r: samples(r, ["0", "1"]).with_name("classes.txt").write_text("cat\ncat\n"),
        'two classes are called "cat"',
    ),
    "classes not UTF-8": (
        lambda r: samples(r, ["0", "1"]).with_name("classes.txt").write_bytes(b"\xff"),
        "classes.txt cannot be read: it is not UTF-8 text",
    ),
    "labels that begin with a comma": (lambda r: imagenet(r, b",\nILSVRC2012_val_00000001 n01\n"), 'line 1 is ","'),
    "labels of control codes": (lambda r: imagenet(r, ESCAPE.encode()), 'line 1 is "�\\[31mred�\\[0m"; expected'),
    "a label of many digits": (
        lambda r: imagenet(r, b"ILSVRC2012_val_00000001 " + b"1" * 5000),
        'line 1 has the class "1{80}…"; expected a wnid',
    ),
    "labels not UTF-8": (lambda r: imagenet(r, b"\xff\xfe\0"), "val_labels.txt cannot be read: it is not UTF-8"),
    "labels that are empty": (lambda r: imagenet(r, b""), "has no line for ILSVRC2012_val_00000001"),
    "huge labels": (lambda r: os.truncate(imagenet(r, b"") / "val_labels.txt", 2**40), "1,099,511,627,776 bytes; at"),
    "parquet of words after numbers": (
        lambda r: other_schema(r, {"labels": ["a", "b"]}),
        "00001-of-00002.parquet has images in image.bytes and labels that are words",
    ),
    "parquet of bytes after structs": (
        lambda r: other_schema(r, {"labels": [0, 1], "plain": True}),
        "00001-of-00002.parquet has images in image and labels that are numbers",
    ),
    "parquet of other classes": (
        lambda r: other_schema(r, {"labels": [0, 1], "names": ["dog", "cat"]}),
        "00001-of-00002.parquet has other class names",
    ),
    "parquet of floats": (
        lambda r: other_schema(r, {"labels": [0.5, 1.5]}),
        "00001-of-00002.parquet has no column label of labels",
    ),
    "parquet with a long word": (
        lambda r: making.parquet(r / "a.parquet", ["a", "b" * 10**6]),
        "a.parquet: its labels cannot be read: .* more than 255 characters",
    ),
    "a number beyond all": (
        lambda r: making.parquet(r / "a.parquet", np.array([0, 2**64 - 1], np.uint64)),
        "a.parquet: its labels cannot be read",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_sets_are_refused_by_name(case, tmp_path):
    spoil, reason = REFUSED[case]
    spoil(tmp_path / "set")
    with pytest.raises(BadData, match=reason) as error:
        open_data(tmp_path / "set")
    assert str(error.value).count("\n") == 0 and "\x1b" not in str(error.value)
    assert len(str(error.value)) < 1000


def test_archives_that_unpack_to_gigabytes_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "cifar-10-binary.tar.gz"
    archive(path, "cifar-10-batches-bin/data_batch_1.bin", 6 * 10**9)
    with pytest.raises(BadData, match=r"data_batch_1.bin in .* has 6,000,000,000 bytes; expected at most 61,460"):
        open_data(path)
    archive(path, "readme.html", 6 * 10**9)
    for look in (find_data, lambda path: cifar.load_cifar(path)):
        with pytest.raises(BadData, match=r"tar.gz unpacks to more than 268,435,456 bytes"):
            look(path)
    monkeypatch.setattr(packed, "LIMIT", 10**5)
    folder = making.cifar(tmp_path / "bin", SMALL[10], 10)
    with tarfile.open(path, "w:gz") as file:
        file.add(folder, "bin")
    with pytest.raises(BadData, match=r"unpacks to more than 100,000 bytes"):
        cifar.load_cifar(path)


def test_python_pickles_are_never_opened(tmp_path):
    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "data_batch_1").write_bytes(pickle.dumps(Harm()))
    with tarfile.open(tmp_path / "cifar-10-python.tar.gz", "w:gz") as file:
        file.add(tmp_path / "set", "cifar-10-batches-py")
    for path in (tmp_path / "set", tmp_path / "cifar-10-python.tar.gz"):
        with pytest.raises(BadData, match=r"Python version of CIFAR.*use the binary version.*University of Toronto"):
            open_data(path)
    assert not (tmp_path / "harm").exists()


BAD_PICTURES = {
    "pipe": (pipe, "is a named pipe, not a regular file"),
    "device": (endless, "is a device, not a regular file"),
    "huge": (lambda path: os.truncate(path, 2**40), "has 1,099,511,627,776 bytes; at most 536,870,912 are read"),
}


@pytest.mark.parametrize("case", BAD_PICTURES)
def test_pictures_that_are_no_files_are_named(case, tmp_path):
    spoil, reason = BAD_PICTURES[case]
    making.tree(tmp_path / "set", {"a": 2, "b": 2})
    path = tmp_path / "set" / "a" / "1.png"
    spoil(path)
    found = find_data(tmp_path / "set")
    with pytest.raises(BadExample, match=f"^a/1.png: {reason}"):
        found.train[1]
    seen = inspect(found, "here")
    assert [tuple(finding) for finding in seen.bad] == [("a/1.png", reason)]
    contact_sheet(found, "here")
    with pytest.raises(BadExample, match=f"1.png: {reason}"):
        load_picture(path, (Resize(4),), (4, 4, 3))


def test_folders_that_link_to_each_other_are_walked_once(tmp_path):
    making.tree(tmp_path, {str(i): 2 for i in range(9)})
    for i in range(9):
        for j in range(9):
            (tmp_path / str(i) / f"to{j}").symlink_to(tmp_path / str(j))
            (tmp_path / str(i) / f"up{j}").symlink_to(tmp_path)
    found = find_data(tmp_path)
    assert np.bincount(found.train.labels).tolist() == [2] * 9
    assert "0/to1/ (the same folder is in 1/)" in found.ignored
    for i in range(9):
        making.tar(tmp_path / str(i) / f"{i}.tar", {})
    with pytest.raises(BadData, match=r"several sets of .tar files: 0, 1, 2, 3, 4, 5, 6, 7, 8;"):
        find_shards(tmp_path, ".tar")


def test_folders_may_not_be_too_deep(tmp_path, monkeypatch):
    making.tree(tmp_path / "set", {"a": 1, "b": 1})
    monkeypatch.chdir(tmp_path / "set" / "a")
    for _ in range(1200):
        os.mkdir("d")
        os.chdir("d")
    try:
        with pytest.raises(BadData, match=r"a(/d){64}/ is more than 64 folders deep in its class$"):
            open_data(tmp_path / "set")
    finally:  # Python's own way is too deep for Python
        for _ in range(1200):
            os.chdir("..")
            os.rmdir("d")


@pytest.mark.parametrize(
    ("kind", "fields", "what"),
    [
        (tarfile.SYMTYPE, {"linkname": "/etc/passwd"}, "a link"),
        (tarfile.LNKTYPE, {"linkname": "0.png"}, "a link"),
        (tarfile.CHRTYPE, {"devmajor": 1, "devminor": 5}, "a device"),
        (tarfile.FIFOTYPE, {}, "a named pipe"),
        (tarfile.GNUTYPE_SPARSE, {}, "sparse"),
    ],
)
def test_members_that_are_no_files_are_left_out_and_listed(kind, fields, what, tmp_path):
    member_of(kind, tmp_path / "set", **fields)
    found = find_data(tmp_path / "set")
    assert len(found.train) == 2 and found.ignored == (f"a.tar strange.png ({what})",)


def control_folder(root):
    making.tree(root, {ESCAPE: 2, "line\nbreak": 2, "\u202eback": 2})


def control_words(root):
    samples(root, [ESCAPE, "line\nbreak", "\u202eback"] * 2)


def control_names(root):
    samples(root, ["0", "1", "2"] * 2).with_name("classes.txt").write_text(f"{ESCAPE}\nline\x85\u202eback\n\x9b31m\n")


def control_parquet(root):
    making.parquet(root / "a.parquet", [0, 1, 2], names=[ESCAPE, "line\nbreak", "\u202eback"])


@pytest.mark.parametrize("make_set", [control_folder, control_words, control_names, control_parquet])
def test_names_never_control_the_terminal(make_set, tmp_path, here):
    make_set(tmp_path / "set")
    out, err = here("data", "inspect", "set", "--json", "report.json", cwd=tmp_path, code=1)  # too small to train on
    names = json.loads((tmp_path / "report.json").read_text())["classes"]
    for text in (out.replace("\n", ""), err, *names):
        assert not set(text) & set("\x1b\n\x85\x9b\u202e\u2028")
    assert any("[31m" in name for name in names) and "�" in out


def test_names_of_files_never_control_the_terminal(tmp_path, here):
    making.tree(tmp_path / "set", {"a": 1, "b": 1})
    (tmp_path / "set" / "a" / f"{ESCAPE}\n.png").write_text("no picture")
    (tmp_path / "set" / "b" / f"{ESCAPE}\n.txt").write_text("no picture")
    os.rename(tmp_path / "set" / "b" / "0.png", os.fsencode(tmp_path / "set" / "b") + b"/\xff.png")
    odd = tmp_path / f"odd\udcff{ESCAPE}"
    (tmp_path / "set").rename(odd)
    out, err = here("data", "inspect", odd.name, "--json", "report.json", cwd=tmp_path, code=1)
    assert "\x1b" not in out + err and "a/�[31mred�[0m�.png: is text" in out
    json.loads((tmp_path / "report.json").read_text())
    (odd / "a").rename(tmp_path / "a")
    _, err = here("train", "folder", "--data.path", odd, code=2)
    assert "\x1b" not in err


def damaged(data, rng):
    """Bytes cut off, changed, put in or taken out."""
    data, place = bytearray(data), rng.randrange(len(data))
    change = rng.randrange(5)
    if change == 0:
        return bytes(data[:place])
    if change == 1:
        data[place] ^= 1 << rng.randrange(8)
    elif change == 2:
        data[place : place + 4] = rng.choice((b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\0\0\0", bytes(4)))
    elif change == 3:
        data[place:place] = rng.randbytes(rng.randrange(1, 600))
    else:
        del data[place : place + rng.randrange(1, 600)]
    return bytes(data)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("cifar100", "one tree")])
def test_random_damage_is_refused_or_read(kind, tmp_path, monkeypatch):
    """The same for longer, by hand: more rounds."""
    home, _ = make(kind, tmp_path, monkeypatch)
    files = {path: path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}
    rng = random.Random(kind)
    for _ in range(25):
        path = rng.choice(list(files))
        path.write_bytes(damaged(files[path], rng))
        try:
            inspect(find_data(home), "here")
            open_data(home).train[0]
        except (BadData, BadExample):
            pass
        path.write_bytes(files[path])


def test_a_picture_with_a_lying_header_is_refused(tmp_path):
    """Each says that it is large; none has pixels."""
    for name, data in {
        "a.bmp": b"BM" + struct.pack("<IIIIiiHHIIIIII", 0, 0, 54, 40, 60000, 60000, 1, 24, 0, 0, 0, 0, 0, 0),
        "a.ppm": b"P6 60000 60000 255\n",
    }.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BadExample, match=f"{name}: has 60000×60000 pixels, 3,600,000,000 together; a [A-Z]+ may"):
            load_picture(tmp_path / name, (Resize(4),), (4, 4, 3))
