"""IDX and CIFAR files: what is in them, and files that are not whole."""

import gzip
import tarfile

import numpy as np
import pytest

from data.pictures import making
from data.pictures.test_sources import SMALL
from mttt.data import BadData
from mttt.data.pictures import cifar, detect, find_fashion_mnist, load_cifar, load_idx
from mttt.data.pictures.idx import FASHION_CLASSES


@pytest.mark.parametrize("gzipped", [True, False])
@pytest.mark.parametrize("dot", [True, False])
def test_idx_files_are_read(tmp_path, gzipped, dot):
    making.idx(tmp_path, gzipped=gzipped, dot=dot)
    splits = load_idx(tmp_path)
    expected = np.random.default_rng(0).integers(0, 256, (30, 5, 4))
    assert splits.native_shape == (5, 4, 1) and splits.classes == tuple("0123456789")
    np.testing.assert_array_equal(making.pixels(splits.train, 17), expected[17])
    assert splits.train[17].label == 7 and len(splits.evaluation) == 10
    assert splits.train.name(17).endswith(f"-ubyte{'.gz' * gzipped} image 17")
    assert detect(next(tmp_path.glob("train-images*"))) == "idx"


def change(path, at, data):
    """Bytes of an unpacked IDX file, overwritten."""
    old = path.read_bytes()
    path.write_bytes(old[:at] + data + old[at + len(data) :])


@pytest.mark.parametrize(
    ("file", "spoil", "reason"),
    [
        ("train-images-idx3", lambda p: change(p, 0, b"\x89PNG"), "begins with 89504e47.*begins with 00000803"),
        ("train-labels-idx1", lambda p: change(p, 3, b"\x03"), "begins with 00000803.*begins with 00000801"),
        (
            "t10k-images-idx3",
            lambda p: p.write_bytes(p.read_bytes()[:-1]),
            "has 199 bytes after its header, which says 10×5×4",
        ),
        (
            "t10k-images-idx3",
            lambda p: p.write_bytes(p.read_bytes() + b"x"),
            "has more than 200 bytes",
        ),
        ("t10k-images-idx3", lambda p: p.write_bytes(b""), "begins with nothing"),
        ("t10k-images-idx3", lambda p: p.write_bytes(p.read_bytes()[:9]), "ends after 9 bytes"),
        ("t10k-labels-idx1", lambda p: p.write_bytes(making.idx_bytes(np.zeros(9))), "10 images, but.*9 labels"),
        ("train-labels-idx1", lambda p: change(p, 8 + 3, b"\xff"), "image 3 of train has label 255"),
        ("t10k-labels-idx1", lambda p: change(p, 8, b"\x0a"), "image 0 of test has label 10"),
        ("t10k-labels-idx1", lambda p: p.unlink(), "has no t10k-labels-idx1-ubyte .or"),
        (
            "t10k-images-idx3",
            lambda p: p.write_bytes(making.idx_bytes(np.zeros((10, 4, 4)))),
            "training images of .5, 4.",
        ),
    ],
)
def test_idx_files_that_are_wrong_are_named(tmp_path, file, spoil, reason):
    making.idx(tmp_path, gzipped=False)
    spoil(tmp_path / f"{file}-ubyte")
    with pytest.raises(BadData, match=reason) as error:
        load_idx(tmp_path)
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-20], lambda data: b"not gzip", lambda data: data[:40] + b"\xff" * 40]
)
def test_gzipped_files_that_are_cut_off_are_named(tmp_path, spoil):
    making.idx(tmp_path)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(BadData, match=f"{path.name} cannot be read"):
        load_idx(tmp_path)


def test_fashion_mnist_is_found_and_has_names(tmp_path, monkeypatch):
    home = making.idx(tmp_path / "share" / "datasets" / "fashion-mnist")
    monkeypatch.setenv("XDG_DATA_DIRS", f"{tmp_path}/nothing:{tmp_path}/share")
    assert find_fashion_mnist() == home
    assert load_idx(home).classes == FASHION_CLASSES


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(cifar, "LAYOUTS", SMALL)


@pytest.mark.parametrize("classes", [10, 100])
def test_cifar_has_channels_last_and_the_fine_label(tmp_path, small, classes):
    making.cifar(tmp_path / "bin", SMALL[classes], classes)
    splits = load_cifar(tmp_path, classes)
    k, r, c = 2, 5, 7
    row = 13
    assert making.pixels(splits.train, row).shape == (32, 32, 3)
    assert making.pixels(splits.train, row)[r, c, k] == (row + 100 * k + 32 * r + c) % 256
    assert splits.train[row].label == row % classes and splits.classes[3] == "class3"
    assert splits.native_shape == (32, 32, 3) and splits.evaluation_name == "test"
    per_file = SMALL[classes].train_images
    assert splits.train.name(per_file - 1) == f"{SMALL[classes].train[0]} image {per_file - 1}"
    if classes == 10:
        assert splits.train.name(per_file) == "data_batch_2.bin image 0"


@pytest.mark.parametrize("suffix", ["tar.gz", "tar.xz", "tar"])
def test_archives_are_read_without_unpacking(tmp_path, small, suffix):
    folder = making.cifar(tmp_path / "cifar-10-batches-bin", SMALL[10], 10)
    archive = tmp_path / f"cifar.{suffix}"
    with tarfile.open(archive, f"w:{suffix.removeprefix('tar').removeprefix('.')}") as file:
        file.add(folder, folder.name)
    assert detect(archive) == "cifar10"
    before = sorted(tmp_path.iterdir())
    one, other = load_cifar(archive), load_cifar(folder)
    assert sorted(tmp_path.iterdir()) == before
    np.testing.assert_array_equal(one.train.images, other.train.images)
    np.testing.assert_array_equal(one.train.labels, other.train.labels)


def test_archives_that_are_cut_off_are_named(tmp_path, small):
    archive = tmp_path / "cifar.tar.gz"
    folder = making.cifar(tmp_path / "bin", SMALL[10], 10)
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder, folder.name)
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    with pytest.raises(BadData, match=r"cifar.tar.gz cannot be read"):
        load_cifar(archive)
    archive.write_bytes(gzip.compress(b"no tar file"))
    with pytest.raises(BadData, match=r"cifar.tar.gz is not a whole tar file"):
        load_cifar(archive)


@pytest.mark.parametrize(
    ("name", "spoil", "reason"),
    [
        (
            "data_batch_3.bin",
            lambda p: p.write_bytes(p.read_bytes()[:-1]),
            "data_batch_3.bin in .* has 61459 bytes; expected 61460",
        ),
        (
            "data_batch_3.bin",
            lambda p: p.write_bytes(p.read_bytes()[: 19 * 3073]),
            "has 58387 bytes; expected 61460: 20 images",
        ),
        (
            "test_batch.bin",
            lambda p: change(p, 3 * 3073, b"\x0a"),
            "test_batch.bin in .* has label 10 at image 3; .* 0 to 9",
        ),
        ("data_batch_5.bin", lambda p: p.unlink(), "has no data_batch_5.bin, which CIFAR-10 in the binary version has"),
        ("batches.meta.txt", lambda p: p.write_text("cat\ndog\n"), "batches.meta.txt has 2 class names; expected 10"),
    ],
)
def test_cifar_files_that_are_wrong_are_named(tmp_path, small, name, spoil, reason):
    folder = making.cifar(tmp_path / "bin", SMALL[10], 10)
    spoil(folder / name)
    with pytest.raises(BadData, match=reason):
        load_cifar(folder)


def test_the_official_sizes_are_expected():
    assert cifar.LAYOUTS[10].train_images * 3073 == 30_730_000
    assert cifar.LAYOUTS[100].train_images * 3074 == 153_700_000
    with pytest.raises(BadData, match=r"10 or 100"):
        load_cifar(making.Path("."), 20)
