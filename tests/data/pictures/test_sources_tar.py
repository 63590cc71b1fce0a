"""Tar files: ImageNet's archives, WebDataset shards, and tar files that are cut off."""

import gzip

import numpy as np
import pytest

from data.pictures import making
from mttt.data import BadData, BadExample
from mttt.data.pictures import detect, load_tar, members
from mttt.data.pictures.members import list_members
from mttt.data.pictures.tar import find_tar

WNIDS = ("n01440764", "n01443537", "n02085620")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mttt" / "tar"


def imagenet(root, *, validation=True):
    inner = {}
    for n, wnid in reversed(list(enumerate(WNIDS))):
        inner[f"{wnid}.tar"] = making.tar_bytes(
            {f"{wnid}_{i}.JPEG": making.picture(10 * n + i, kind="JPEG") for i in range(4)}
        )
    making.tar(root / "ILSVRC2012_img_train.tar", inner)
    if validation:
        images = {f"ILSVRC2012_val_{i:08}.JPEG": making.picture(100 + i, kind="JPEG") for i in (3, 1, 2)}
        making.tar(root / "ILSVRC2012_img_val.tar", images)
    return root


def test_imagenet_training_images_are_read_in_place(tmp_path):
    imagenet(tmp_path / "set", validation=False)
    splits = load_tar(tmp_path / "set", holdout=0.25)
    assert splits.classes == WNIDS and splits.evaluation_name == "held-out"
    assert (len(splits.train), len(splits.evaluation)) == (9, 3)
    train = find_tar(tmp_path / "set" / "ILSVRC2012_img_train.tar").train
    index = next(i for i in range(12) if "n01443537_2" in train.name(i))
    assert train.name(index) == "ILSVRC2012_img_train.tar n01443537.tar/n01443537_2.JPEG"
    assert train[index].label == 1
    np.testing.assert_array_equal(making.pixels(train, index), making.decoded(making.picture(12, kind="JPEG")))
    assert detect(tmp_path / "set" / "ILSVRC2012_img_train.tar") == "tar"


NAMES = [f"ILSVRC2012_val_{i:08}" for i in (1, 2, 3)]
LABELS = [2, 0, 1]
LISTS = {
    "val_labels.txt": "".join(f"{n}.JPEG {WNIDS[y]}\n" for n, y in reversed(list(zip(NAMES, LABELS, strict=True)))),
    "val.txt": "".join(f"val/{n}.jpeg {y}\n" for n, y in zip(NAMES, LABELS, strict=True)),
    "LOC_val_solution.csv": "ImageId,PredictionString\n"
    + "".join(f"{n},{WNIDS[y]} 1 2 3 4\n" for n, y in zip(NAMES, LABELS, strict=True)),
}


@pytest.mark.parametrize("name", LISTS)
def test_imagenet_validation_labels(tmp_path, name):
    imagenet(tmp_path)
    (tmp_path / name).write_text(LISTS[name])
    splits = load_tar(tmp_path)
    assert splits.evaluation_name == "validation"
    assert splits.evaluation.labels.tolist() == LABELS
    assert [NAMES[i] in splits.evaluation.name(i) for i in range(3)] == [True] * 3
    np.testing.assert_array_equal(making.pixels(splits.evaluation, 1), making.decoded(making.picture(102, kind="JPEG")))


def test_ground_truth_needs_to_know_which_id_is_which(tmp_path):
    imagenet(tmp_path)
    with pytest.raises(BadData, match=r"has no labels beside it.*write val_labels.txt with lines"):
        load_tar(tmp_path)
    (tmp_path / "ILSVRC2012_validation_ground_truth.txt").write_text("1\n3\n2\n")
    with pytest.raises(BadData, match=r"does not say which class is which: add map_clsloc.txt"):
        load_tar(tmp_path)
    ids = {"1": WNIDS[2], "2": WNIDS[1], "3": WNIDS[0]}  # not in the order of wnids
    (tmp_path / "map_clsloc.txt").write_text("".join(f"{wnid} {i} name\n" for i, wnid in ids.items()))
    assert load_tar(tmp_path).evaluation.labels.tolist() == LABELS
    (tmp_path / "ILSVRC2012_validation_ground_truth.txt").write_text("1\n3\n")
    with pytest.raises(BadData, match=r"2 lines for 3 images"):
        load_tar(tmp_path)
    (tmp_path / "ILSVRC2012_validation_ground_truth.txt").write_text("1\n3\n4\n")
    with pytest.raises(BadData, match=r"line 3 has the id .4."):
        load_tar(tmp_path)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (f"{NAMES[0]} 3\n", 'line 1 has the class "3"; expected a wnid .* or 0 to 2'),
        (f"{NAMES[0]} n99\n", 'line 1 has the class "n99"'),
        (f"{NAMES[0]}\n", 'line 1 is "ILSVRC2012_val_00000001"; expected "NAME WNID"'),
        (f"{NAMES[0]} 0\n", "has no line for ILSVRC2012_val_00000002"),
    ],
)
def test_lists_that_are_wrong_are_named(tmp_path, lines, reason):
    imagenet(tmp_path)
    (tmp_path / "val.txt").write_text(lines)
    with pytest.raises(BadData, match=reason):
        load_tar(tmp_path)


def samples(count, *, json=False, words=False):
    files = {}
    for i in range(count):
        label = ("cat", "dog")[i % 2] if words else str(i % 2)
        files[f"deep/{i:04}.jpg"] = making.picture(i, kind="JPEG")
        files[f"deep/{i:04}.{'json' if json else 'cls'}"] = (f'{{"label": {label}}}' if json else label).encode()
    return files


@pytest.mark.parametrize("json", [True, False])
def test_webdataset_shards(tmp_path, json):
    for shard in range(2):
        making.tar(tmp_path / f"train-{shard:06}.tar", samples(5, json=json))
    making.tar(tmp_path / "val-000000.tar", samples(2, json=json))
    splits = load_tar(tmp_path)
    assert splits.classes == ("0", "1") and splits.evaluation_name == "validation"
    assert splits.train.labels.tolist() == [0, 1, 0, 1, 0] * 2
    assert splits.train.name(8) == "train-000001.tar deep/0003.jpg"
    np.testing.assert_array_equal(making.pixels(splits.train, 8), making.decoded(making.picture(3, kind="JPEG")))
    assert splits.train.sizes()[8] == len(making.picture(3, kind="JPEG"))


def test_webdataset_class_names(tmp_path):
    making.tar(tmp_path / "words" / "a.tar", samples(20, words=True))
    assert load_tar(tmp_path / "words").classes == ("cat", "dog")
    making.tar(tmp_path / "numbers" / "a.tar", samples(20))
    (tmp_path / "numbers" / "classes.txt").write_text("cat\ndog\n")
    assert load_tar(tmp_path / "numbers").classes == ("cat", "dog")
    assert detect(tmp_path / "numbers" / "a.tar") == "webdataset"


def test_webdataset_samples_that_are_not_whole_are_named(tmp_path):
    files = samples(4)
    del files["deep/0002.cls"], files["deep/0001.jpg"]
    making.tar(tmp_path / "a.tar", files)
    with pytest.raises(BadData, match=r"1 sample has no image, the first is deep/0001 .and 1 more"):
        load_tar(tmp_path)
    assert "1 sample has no class (.cls or .json), the first is deep/0002" in find_tar(tmp_path).problems[1]
    making.tar(tmp_path / "a.tar", {"0.jpg": b"x", "0.json": b"{"})
    with pytest.raises(BadData, match=r"class of 0 cannot be read"):
        load_tar(tmp_path)
    making.tar(tmp_path / "a.tar", {"cat/0.jpg": b"x", "dog/1.jpg": b"y"})
    with pytest.raises(BadData, match=r"2 samples have no class"):
        load_tar(tmp_path)


def test_missing_shards_are_noticed(tmp_path):
    for shard in (0, 1, 3):
        making.tar(tmp_path / f"train-{shard:06}.tar", samples(4))
    with pytest.raises(BadData, match=r"1 of 4 files .*train-… is missing: number 2"):
        load_tar(tmp_path)


@pytest.mark.parametrize("cut", ["in data", "in a header", "between members"])
def test_truncated_tar_files_are_named(tmp_path, cut):
    path = making.tar(tmp_path / "a.tar", samples(4))
    last = list_members(path).members[-2]
    end = {"in data": last.offset + 20, "in a header": last.offset - 200, "between members": last.offset - 512}[cut]
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(BadData, match=r"a.tar is not a whole tar file"):
        load_tar(tmp_path)


def test_a_broken_header_is_not_taken_for_the_end(tmp_path):
    path = making.tar(tmp_path / "a.tar", samples(4))
    data = bytearray(path.read_bytes())
    place = list_members(path).members[2].offset - 512
    data[place : place + 200] = b"x" * 200
    path.write_bytes(data)
    with pytest.raises(BadData, match=f"cut off or broken at byte {place}"):
        load_tar(tmp_path)


def test_a_truncated_inner_tar_file_is_named(tmp_path):
    imagenet(tmp_path, validation=False)
    inner = making.tar_bytes({"n02085620_0.JPEG": making.picture(kind="JPEG")})
    making.tar(tmp_path / "ILSVRC2012_img_train.tar", {"n02085620.tar": inner[:700]})
    with pytest.raises(BadData, match=r"n02085620.tar in ILSVRC2012_img_train.tar is not a whole tar file"):
        load_tar(tmp_path)


def test_what_is_not_a_tar_file_is_named(tmp_path):
    (tmp_path / "a.tar").write_bytes(b"hello" * 500)
    with pytest.raises(BadData, match=r"a.tar is not a whole tar file"):
        load_tar(tmp_path)
    (tmp_path / "a.tar").write_bytes(gzip.compress(making.tar_bytes(samples(2))))
    with pytest.raises(BadData, match=r"a.tar is compressed.*unpack it once"):
        load_tar(tmp_path)


def test_a_tar_file_that_changed_is_noticed(tmp_path):
    path = making.tar(tmp_path / "a.tar", samples(4))
    train = find_tar(tmp_path).train
    path.write_bytes(path.read_bytes()[:600])
    with pytest.raises(BadExample, match=r"a.tar deep/0003.jpg: cannot be read: the tar file has become shorter"):
        train[3]


def test_lists_that_took_long_are_kept_for_this_very_file(tmp_path, monkeypatch, cache):
    path = making.tar(tmp_path / "a.tar", samples(4))
    expected = list_members(path)
    assert not cache.exists(), "quick lists are not kept"
    monkeypatch.setattr(members, "_SLOW", -1.0)
    list_members(path)
    (kept,) = cache.iterdir()
    headers = members.read_headers
    monkeypatch.setattr(members, "read_headers", lambda *arguments: pytest.fail("read again"))
    assert list_members(path) == expected
    monkeypatch.setattr(members, "read_headers", headers)
    making.tar(path, samples(6))
    assert len(list_members(path).members) == 12, "another file"
    for file in cache.iterdir():
        file.write_bytes(b"broken")
    assert len(list_members(path).members) == 12
    assert kept.exists()


def test_shards_of_one_name_in_two_folders_are_told_apart(tmp_path):
    for part in ("train", "val"):
        (tmp_path / part).mkdir()
        making.tar(tmp_path / part / "00000.tar", samples(4))
    splits = find_tar(tmp_path)
    assert splits.train.name(0).startswith("train/00000.tar ")
    assert splits.evaluation.name(0).startswith("val/00000.tar ")


def test_archives_packed_with_a_leading_dot_have_the_same_classes(tmp_path):
    inner = {f"./{wnid}.tar": making.tar_bytes({f"{wnid}_1.JPEG": making.picture()}) for wnid in ("n01", "n02")}
    making.tar(tmp_path / "ILSVRC2012_img_train.tar", inner)
    assert find_tar(tmp_path).classes == ("n01", "n02")
