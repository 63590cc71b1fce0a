"""Class folders: layouts that are understood, and what is wrong with others."""

import os

import numpy as np
import pytest

from data.pictures import making
from mttt.data import BadData, BadExample
from mttt.data.pictures import folder, load_folder
from mttt.data.pictures.folder import find_folder


def names(source):
    return [source.name(i) for i in range(len(source))]


@pytest.mark.parametrize(
    ("val", "name"), [("val", "validation"), ("Valid", "validation"), ("validation", "validation"), ("test", "test")]
)
def test_splits_are_taken_as_they_are(tmp_path, val, name):
    making.tree(tmp_path / "train", {"b": 2, "a": 3})
    making.tree(tmp_path / val, {"b": 1})
    splits = load_folder(tmp_path)
    assert splits.classes == ("a", "b") and splits.evaluation_name == name
    assert names(splits.train) == [f"train/a/{i}.png" for i in range(3)] + [f"train/b/{i}.png" for i in range(2)]
    assert splits.train.labels.tolist() == [0, 0, 0, 1, 1]
    assert names(splits.evaluation) == [f"{val}/b/0.png"] and splits.evaluation.labels.tolist() == [1]
    np.testing.assert_array_equal(
        making.pixels(splits.train, 3), making.decoded((tmp_path / "train/b/0.png").read_bytes())
    )


def test_validation_is_preferred_to_test_which_is_reported(tmp_path):
    for part in ("train", "val"):
        making.tree(tmp_path / part, {"a": 1, "b": 1})
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "unlabelled.png").write_bytes(making.picture())
    found = find_folder(tmp_path)
    assert found.evaluation_name == "validation" and found.ignored == ("test/",)


def test_one_tree_is_split_by_class_and_seed(tmp_path):
    making.tree(tmp_path, {"a": 10, "b": 20})
    splits = load_folder(tmp_path, holdout=0.2)
    assert splits.evaluation_name == "held-out"
    assert np.bincount(splits.evaluation.labels).tolist() == [2, 4]
    assert set(names(splits.train)).isdisjoint(names(splits.evaluation))
    assert names(load_folder(tmp_path, holdout=0.2).evaluation) == names(splits.evaluation)
    assert names(load_folder(tmp_path, holdout=0.2, seed=1).evaluation) != names(splits.evaluation)


def test_a_train_folder_alone_is_split(tmp_path):
    making.tree(tmp_path / "train", {"a": 10, "b": 10})
    assert load_folder(tmp_path).evaluation_name == "held-out"


def test_a_class_may_be_called_train(tmp_path):
    making.tree(tmp_path, {"train": 10, "car": 10})
    assert load_folder(tmp_path).classes == ("car", "train")


def test_what_belongs_to_a_class_and_what_is_ignored(tmp_path):
    making.tree(tmp_path / "data", {"a": 1, "b": 2})
    root = tmp_path / "data"
    (root / "a" / "deep" / "er").mkdir(parents=True)
    (root / "a" / "deep" / "er" / "X.JPeG").write_bytes(making.picture(7, kind="JPEG"))
    for junk in ("Thumbs.db", ".DS_Store", ".hidden.png", "._0.png"):
        (root / "a" / junk).write_bytes(b"junk")
    (root / "__MACOSX").mkdir()
    (root / ".git").mkdir()
    (root / "a" / "notes.txt").write_text("hello")
    (root / "loose.png").write_bytes(b"")
    elsewhere = making.tree(tmp_path / "elsewhere", {"c": 1})
    (root / "c").symlink_to(elsewhere / "c")
    (root / "b" / "round").symlink_to(root / "b")
    found = find_folder(root)
    assert found.classes == ("a", "b", "c")
    assert names(found.train) == ["a/0.png", "a/deep/er/X.JPeG", "b/0.png", "b/1.png", "c/0.png"]
    assert sorted(found.ignored) == ["a/notes.txt", "loose.png"]
    assert found.train[1].image.format == "JPEG"


def test_order_is_by_code_point(tmp_path):
    making.tree(tmp_path, {"b": 1, "B": 1, "ä": 1, "10": 1, "9": 1})
    assert find_folder(tmp_path).classes == ("10", "9", "B", "b", "ä")


def test_names_that_are_not_utf8_can_be_read_and_printed(tmp_path):
    making.tree(tmp_path, {"a": 2, "b": 1})
    os.rename(tmp_path / "a" / "1.png", os.fsencode(tmp_path) + b"/a/\xff.png")
    train = find_folder(tmp_path).train
    assert train.name(1) == "a/�.png"
    train[1].image.load()


def test_an_empty_class_folder_is_named(tmp_path):
    making.tree(tmp_path, {"a": 2, "b": 0, "c": 0})
    (tmp_path / "b" / "notes.txt").write_text("no picture")
    with pytest.raises(BadData, match=r"class folder b/ has no images .and 1 more problem"):
        load_folder(tmp_path)
    assert len(find_folder(tmp_path).problems) == 2


def test_a_validation_class_that_is_not_trained_is_named(tmp_path):
    making.tree(tmp_path / "train", {"a": 1, "b": 1})
    making.tree(tmp_path / "val", {"a": 1, "z": 2})
    with pytest.raises(BadData, match=r"^val/z is a class that train/ does not have$"):
        load_folder(tmp_path)
    assert len(find_folder(tmp_path).evaluation) == 1


def test_an_empty_validation_class_is_named(tmp_path):
    making.tree(tmp_path / "train", {"a": 1, "b": 1})
    making.tree(tmp_path / "val", {"a": 1, "b": 0})
    with pytest.raises(BadData, match=r"class folder val/b/ has no images"):
        load_folder(tmp_path)


def test_one_class_is_nothing_to_tell_apart(tmp_path):
    making.tree(tmp_path, {"a": 20})
    with pytest.raises(BadData, match=r"only one class, a; a classifier needs two or more"):
        load_folder(tmp_path)


def test_trees_without_classes_are_refused(tmp_path):
    (tmp_path / "0.png").write_bytes(making.picture())
    with pytest.raises(BadData, match=r"has 1 image, but no class folders; put the images of each class"):
        load_folder(tmp_path)
    making.tree(tmp_path / "val", {"a": 1})
    (tmp_path / "test").mkdir()
    with pytest.raises(BadData, match=r"has test/ and val/, but no train/"):
        load_folder(tmp_path)
    making.tree(tmp_path / "train", {"a": 1, "b": 1})
    (tmp_path / "val" / "a" / "0.png").rename(tmp_path / "val" / "0.png")
    (tmp_path / "val" / "a").rmdir()
    with pytest.raises(BadData, match=r"val has 1 image, but no class folders"):
        load_folder(tmp_path)


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    making.tree(tmp_path, {"a": 1, "b": 1})
    scandir = os.scandir

    def refuse(path):
        if path == tmp_path / "b":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(folder.os, "scandir", refuse)
    with pytest.raises(BadData, match=r"b cannot be read: Permission denied"):
        load_folder(tmp_path)


def test_bad_files_stop_at_their_name_and_not_before(tmp_path):
    making.tree(tmp_path, {"a": 1, "b": 1})
    (tmp_path / "a" / "1.png").write_bytes(b"")
    (tmp_path / "a" / "2.jpg").write_text("this is text")
    (tmp_path / "a" / "3.jpg").symlink_to(tmp_path / "gone.jpg")
    train = find_folder(tmp_path).train
    assert len(train) == 5
    train[0].image.load()
    for index, reason in (
        (1, "a/1.png: is empty"),
        (2, "a/2.jpg: is text"),
        (3, "a/3.jpg: cannot be read: No such file"),
    ):
        with pytest.raises(BadExample, match=reason):
            train[index]
    assert train.sizes().tolist()[1:4] == [0, 12, -1]
