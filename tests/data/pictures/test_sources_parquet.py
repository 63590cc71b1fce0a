"""Parquet shards: columns, splits, reading by row, and shards that are broken."""

import threading

import numpy as np
import pytest

from data.pictures import making
from mttt.data import BadData, BadExample
from mttt.data.pictures import load_parquet, parquet
from mttt.data.pictures.parquet import find_parquet

SHARDS = [[0, 1, 2, 0, 1], [2, 2], [1, 0, 1, 0]]


def write(root, **options):
    for i, labels in enumerate(SHARDS):
        making.parquet(root / f"train-{i:05}-of-{len(SHARDS):05}.parquet", labels, **options)
    making.parquet(root / "validation-00000-of-00001.parquet", [0, 2], **options)
    return root


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("below", ["", "data", "default"])
def test_rows_are_found_in_any_order(tmp_path, plain, below):
    write(tmp_path / below, plain=plain, names=["cat", "dog", "eel"])
    splits = load_parquet(tmp_path)
    assert splits.classes == ("cat", "dog", "eel") and splits.evaluation_name == "validation"
    assert splits.train.labels.tolist() == [label for labels in SHARDS for label in labels]
    places = [(i, row) for i, labels in enumerate(SHARDS) for row in range(len(labels))]
    for index in np.random.default_rng(0).permutation(len(places)).tolist():
        shard, row = places[index]
        assert splits.train.name(index) == f"train-{shard:05}-of-00003.parquet row {row}"
        np.testing.assert_array_equal(making.pixels(splits.train, index), making.decoded(making.picture(row)))


def test_splits_in_folders_of_their_own(tmp_path):
    making.parquet(tmp_path / "train" / "0000.parquet", [0, 1])
    making.parquet(tmp_path / "test" / "0000.parquet", [0])
    splits = load_parquet(tmp_path)
    assert (len(splits.train), len(splits.evaluation), splits.evaluation_name) == (2, 1, "test")


def test_one_file_is_split(tmp_path):
    path = making.parquet(tmp_path / "all.parquet", ["b", "a"] * 10)
    splits = load_parquet(path, holdout=0.2)
    assert splits.classes == ("a", "b") and splits.evaluation_name == "held-out"
    assert np.bincount(splits.evaluation.labels).tolist() == [2, 2]


def test_a_test_split_without_labels_does_not_matter_beside_validation(tmp_path):
    write(tmp_path)
    making.parquet(tmp_path / "test-00000-of-00001.parquet", [-1, -1])
    assert find_parquet(tmp_path).ignored == ("test-00000-of-00001.parquet",)


def test_columns_can_be_named(tmp_path):
    path = making.parquet(tmp_path / "a.parquet", [0, 1], coarse=[1, 0], caption=["x", "y"])
    assert find_parquet(path).train.labels.tolist() == [0, 1]
    assert find_parquet(path, label_column="coarse").train.labels.tolist() == [1, 0]
    assert find_parquet(path, image_column="image", label_column="caption").classes == ("x", "y")
    with pytest.raises(BadData, match=r"no column kind of labels.*its columns are image \(struct.*label \(int64\)"):
        find_parquet(path, label_column="kind")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"image": [b"x"]}, "no column of labels: integers or strings"),
        ({"label": [1]}, "no column of images: binary"),
        ({"image": [1.5], "label": [0]}, "no column of images"),
        ({"image": [b"x"], "one": [0], "two": [1]}, "several columns of labels.*one .int64., two"),
    ],
)
def test_missing_columns_are_named(tmp_path, columns, reason):
    import pyarrow as pa
    from pyarrow import parquet as pq

    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(BadData, match=reason):
        find_parquet(tmp_path)


def test_dictionaries_of_words_are_labels(tmp_path):
    import pyarrow as pa

    path = making.parquet(tmp_path / "a.parquet", pa.array(["x", "y", "x"]).dictionary_encode())
    assert find_parquet(path).train.labels.tolist() == [0, 1, 0]


def test_missing_shards_are_noticed(tmp_path):
    write(tmp_path)
    (tmp_path / "train-00001-of-00003.parquet").unlink()
    with pytest.raises(BadData, match=r"1 of 3 files .*train-… is missing: number 1"):
        load_parquet(tmp_path)


def test_several_sets_are_not_mixed(tmp_path):
    for name in ("small", "large"):
        write(tmp_path / name)
    with pytest.raises(BadData, match=r"several sets of .parquet files: large, small; name one"):
        load_parquet(tmp_path)


@pytest.mark.parametrize("cut", [0, 3, 200, -1])
def test_a_corrupt_shard_is_named(tmp_path, cut):
    path = write(tmp_path) / "train-00001-of-00003.parquet"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(BadData, match=r"train-00001-of-00003.parquet is not a whole parquet file"):
        load_parquet(tmp_path)


def test_a_broken_row_group_stops_at_its_rows(tmp_path):
    path = write(tmp_path) / "train-00001-of-00003.parquet"
    train = find_parquet(tmp_path).train
    data = bytearray(path.read_bytes())
    data[4:60] = b"\xff" * 56  # the first column's pages, not the footer
    path.write_bytes(data)
    train[0]
    with pytest.raises(BadExample, match=r"train-00001-of-00003.parquet row 0: cannot be read: row group 0"):
        train[5]
    path.unlink()
    with pytest.raises(BadExample, match=r"row 1: cannot be read"):
        train[6]


def test_rows_without_bytes_or_labels_are_named(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet as pq

    pq.write_table(pa.table({"image": [making.picture(), None], "label": [0, 1]}), tmp_path / "a.parquet")
    with pytest.raises(BadExample, match=r"a.parquet row 1: cannot be read: this row has no image bytes"):
        find_parquet(tmp_path).train[1]
    pq.write_table(pa.table({"image": [b"x", b"y"], "label": [0, None]}), tmp_path / "a.parquet")
    with pytest.raises(BadData, match=r"a.parquet has 1 row without a label"):
        find_parquet(tmp_path)


def test_few_row_groups_are_kept_and_each_is_read_once_in_order(tmp_path, monkeypatch):
    making.parquet(tmp_path / "a.parquet", [0, 1] * 10, group=2)
    train = find_parquet(tmp_path).train
    read = []
    original = parquet.Parquet._read_group
    monkeypatch.setattr(parquet.Parquet, "_read_group", lambda self, group: read.append(group) or original(self, group))
    for i in range(20):
        train[i]
    assert read == list(range(10))
    assert len(train._kept) == 4
    monkeypatch.setattr(parquet, "_BYTES", 1)
    train[0]
    assert list(train._kept) == [0], "memory is bounded, too"


def test_threads_read_the_same(tmp_path):
    making.parquet(tmp_path / "a.parquet", [0, 1] * 10, group=1)
    train = find_parquet(tmp_path).train
    expected = [making.pixels(train, i) for i in range(20)]
    wrong = []

    def read(seed):
        for i in np.random.default_rng(seed).permutation(20).tolist():
            if not (making.pixels(train, i) == expected[i]).all():
                wrong.append(i)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_without_pyarrow_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr(parquet, "find_spec", lambda name: None)
    with pytest.raises(BadData, match=r"needs pyarrow: pip install pyarrow$"):
        load_parquet(tmp_path)


def test_one_class_is_nothing_to_tell_apart(tmp_path):
    making.parquet(tmp_path / "a.parquet", [0, 0])
    with pytest.raises(BadData, match=r"needs two or more"):
        load_parquet(tmp_path)
