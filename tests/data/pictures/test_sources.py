"""What all sources have in common; splitting and sharing them; and finding out what a path is."""

import io
import pickle

import numpy as np
import pytest
from PIL import Image

from data.pictures import making
from mttt.data import BadData, BadExample, Source
from mttt.data.pictures import Item, cifar, detect, load_digits, open_data
from mttt.data.pictures.arrays import Arrays
from mttt.data.pictures.cifar import Layout
from mttt.data.pictures.labels import encode
from mttt.data.pictures.picture import open_picture

SMALL = {
    10: Layout(tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin", "batches.meta.txt", 1, 20, 10),
    100: Layout(("train.bin",), "test.bin", "fine_label_names.txt", 2, 200, 100),
}


def make(kind, root, monkeypatch):
    """A small set of each kind, and the number of images it has to train and evaluate on."""
    monkeypatch.setattr(cifar, "LAYOUTS", SMALL)
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    home = root / "set"
    if kind == "folder":
        making.tree(home / "train", {"cat": 6, "dog": 5})
        making.tree(home / "val", {"cat": 2, "dog": 3})
        return home, (11, 5)
    if kind == "one tree":
        return making.tree(home, {"cat": 20, "dog": 30}), (45, 5)
    if kind == "idx":
        return making.idx(home), (30, 10)
    if kind == "cifar10":
        return making.cifar(home, SMALL[10], 10), (100, 10)
    if kind == "cifar100":
        return making.cifar(home, SMALL[100], 100), (200, 100)
    if kind == "parquet":
        for i in range(2):
            making.parquet(home / f"data/train-{i:05}-of-00002.parquet", [0, 1, 1, 0, 1])
        making.parquet(home / "data/test-00000-of-00001.parquet", [1, 0])
        return home, (10, 2)
    if kind == "tar":
        for wnid in ("n02", "n01"):
            images = {f"{wnid}_{i}.JPEG": making.picture(i, kind="JPEG") for i in range(4)}
            making.tar(home / "inner" / f"{wnid}.tar", images)
        inner = {path.name: path.read_bytes() for path in (home / "inner").iterdir()}
        making.tar(home / "ILSVRC2012_img_train.tar", inner)
        val = {f"ILSVRC2012_val_{i:08}.JPEG": making.picture(i, kind="JPEG") for i in (2, 1, 3)}
        making.tar(home / "ILSVRC2012_img_val.tar", val)
        (home / "val_labels.txt").write_text("".join(f"{name} n0{1 + i % 2}\n" for i, name in enumerate(sorted(val))))
        return home, (8, 3)
    for part, count in (("train", 6), ("val", 4)):
        files = {
            f"{i:04}.{e}": making.picture(i) if e == "png" else b"%d\n" % (i % 2)
            for i in range(count)
            for e in ("png", "cls")
        }
        making.tar(home / f"set-{part}-000000.tar", files)
    return home, (6, 4)


KINDS = ["folder", "one tree", "idx", "cifar10", "cifar100", "parquet", "tar", "webdataset"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_keeps_the_contract(kind, tmp_path, monkeypatch):
    path, sizes = make(kind, tmp_path, monkeypatch)
    assert detect(path) == {"one tree": "folder"}.get(kind, kind)
    splits = open_data(path)
    assert (len(splits.train), len(splits.evaluation)) == sizes
    assert splits.evaluation_name in {"validation", "test", "held-out"}
    assert splits.native_shape is None or kind in ("idx", "cifar10", "cifar100")
    for source in (splits.train, splits.evaluation):
        assert isinstance(source, Source)
        assert source.labels.dtype == np.int32 and source.labels.shape == (len(source),)
        assert set(source.labels.tolist()) <= set(range(len(splits.classes)))
        names = [source.name(i) for i in range(len(source))]
        assert len(set(names)) == len(source)
        again = pickle.loads(pickle.dumps(source))
        for i in (0, len(source) // 2, len(source) - 1):
            item = source[i]
            assert isinstance(item, Item) and isinstance(item.image, Image.Image)
            assert item.label == source.labels[i]
            np.testing.assert_array_equal(making.pixels(again, i), np.asarray(item.image))
            assert again.name(i) == names[i]
        with pytest.raises(IndexError):
            source[len(source)]
    other = open_data(path)
    assert [other.train.name(i) for i in range(len(other.train))] == [
        splits.train.name(i) for i in range(len(splits.train))
    ]


@pytest.mark.parametrize("kind", ["folder", "parquet", "tar", "webdataset"])
def test_a_source_that_was_read_can_still_be_pickled(kind, tmp_path, monkeypatch):
    train = open_data(make(kind, tmp_path, monkeypatch)[0]).train
    before = len(pickle.dumps(train))
    train[0].image.load()
    assert len(pickle.dumps(train)) == before, "open files and caches stay in their process"


def test_digits_are_a_source_and_keep_their_arrays():
    digits = load_digits()
    assert digits.native_shape == (8, 8, 1) and digits.evaluation_name == "test"
    image, label = digits.train[3]
    assert image.mode == "L" and image.size == (8, 8)
    np.testing.assert_array_equal(np.asarray(image), digits.train.images[3, ..., 0])
    assert label == digits.train.labels[3]
    held = load_digits(holdout=0.2)
    assert held.evaluation_name == "held-out" and len(held.train) + len(held.evaluation) == 1437


def numbered(count, classes=3):
    images = np.arange(count, dtype=np.uint8)[:, None, None, None] * np.ones((1, 2, 2, 1), np.uint8)
    return Arrays(images, (np.arange(count) % classes).astype(np.int32), ("a", "b"))


def test_arrays_are_called_by_their_file():
    assert [numbered(6).name(i) for i in (0, 2, 3)] == ["a image 0", "a image 2", "b image 0"]
    assert making.pixels(Arrays(np.zeros((1, 2, 4, 3), np.uint8), np.zeros(1, np.int32)), 0).shape == (2, 4, 3)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"<html>not found</html>", "is text"),
        (bytes(range(7, 99)), "is not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is text"),  # would start Ghostscript
    ],
)
def test_what_is_no_image_is_refused_by_name(data, reason):
    with pytest.raises(BadExample, match=f"x.jpg: {reason}"):
        open_picture(io.BytesIO(data), "x.jpg")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM"])
def test_formats_are_opened(kind):
    assert open_picture(io.BytesIO(making.picture(kind=kind)), "x").format == kind


def test_labels_are_numbered():
    labels, classes = encode({"train": np.array(["b", "a", "b"]), "test": np.array(["a"])})
    assert classes == ("a", "b") and labels["train"].tolist() == [1, 0, 1] and labels["test"].tolist() == [0]
    labels, classes = encode({"train": np.array([1, 0, 2])})
    assert classes == ("0", "1", "2") and labels["train"].dtype == np.int32
    assert encode({"train": np.array(["y", "x"])}, ("y", "z", "x"))[0]["train"].tolist() == [0, 2]
    assert encode({"train": np.array([0, 5])}, tuple("abcdef"))[1] == tuple("abcdef")


@pytest.mark.parametrize(
    ("raw", "names", "reason"),
    [
        ({"train": np.array([0, 1, 255])}, None, "image 2 of train has label 255, but no image has label 2"),
        ({"train": np.array([1, 2])}, None, "no image has label 0"),
        ({"train": np.array([0, 1]), "test": np.array([2])}, None, "image 0 of test has label 2.*0 to 1"),
        ({"train": np.array([0, -1])}, ("a", "b"), "label -1"),
        ({"train": np.array(["a"]), "test": np.array(["b"])}, None, "label .b., which no training image has"),
    ],
)
def test_labels_out_of_range_are_refused(raw, names, reason):
    with pytest.raises(BadData, match=reason):
        encode(raw, names)


def test_what_cannot_be_read_says_what_was_looked_for(tmp_path):
    with pytest.raises(BadData, match=r"nowhere does not exist"):
        detect(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("hello")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(BadData, match=r"no class folders, no IDX files.*parquet.*tar shards"):
            detect(path)
    (tmp_path / "data_batch_1").write_bytes(b"")
    with pytest.raises(BadData, match=r"Python version of CIFAR.*binary version"):
        detect(tmp_path)


def test_pictures_win_over_the_tar_file_they_came_in(tmp_path):
    making.tree(tmp_path, {"cat": 1, "dog": 1})
    making.tar(tmp_path / "pictures.tar", {"cat/0.png": b"x"})
    assert detect(tmp_path) == "folder"
