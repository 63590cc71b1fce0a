"""What `mttt data inspect` finds, draws, writes and refuses."""

import json
import os

import numpy as np
import pytest
from PIL import Image

from data.pictures import making
from mttt.cli.main import main
from mttt.data.pictures import find_data
from mttt.data.pictures.contact import contact_sheet
from mttt.data.pictures.duplicates import spread
from mttt.data.pictures.inspect import inspect


def look(path, **options):
    return inspect(find_data(path), "here", **options)


def run(*words):
    with pytest.raises(SystemExit) as exit:
        main(["data", *map(str, words)])
    return exit.value.code


@pytest.fixture
def messy(tmp_path):
    """A tree with one of everything that can be wrong and still be looked at."""
    root = tmp_path / "messy"
    making.tree(root / "train", {"cat": 21, "dog": 2})
    making.tree(root / "val", {"cat": 2}, seed=90)
    cat = root / "train" / "cat"
    (cat / "text.jpg").write_text("this is text")
    (cat / "empty.jpg").write_bytes(b"")
    (cat / "cut.jpg").write_bytes(making.picture(1, (60, 60), "JPEG")[:-600])
    (cat / "cut.png").write_bytes(making.picture(1, (60, 60))[:-600])
    (cat / "jpeg.png").write_bytes(making.picture(1, kind="JPEG"))
    (cat / "gray.PNG").write_bytes(making.picture(2, mode="L"))
    (cat / "ink.jpg").write_bytes(making.picture(2, kind="JPEG", mode="CMYK"))
    exif = Image.Exif()
    exif[0x0112] = 6
    (cat / "turned.jpg").write_bytes(making.picture(2, (40, 30), "JPEG", exif=exif))
    (cat / "notes.md").write_text("hello")
    (root / "readme.txt").write_text("hello")
    (root / "val" / "cat" / "again.png").write_bytes((cat / "0.png").read_bytes())
    (root / "val" / "cat" / "other.png").write_bytes((root / "train" / "dog" / "1.png").read_bytes())
    return root


def test_everything_wrong_is_found(messy):
    report = look(messy)
    assert report.counts == {"train": [29, 2], "validation": [4, 0]}
    bad = {finding.name: finding.reason for finding in report.bad}
    assert set(bad) == {f"train/cat/{name}" for name in ("text.jpg", "empty.jpg", "cut.jpg", "cut.png")}
    assert bad["train/cat/text.jpg"] == "is text, not an image"
    assert bad["train/cat/empty.jpg"] == "is empty"
    assert "truncated" in bad["train/cat/cut.jpg"] and "cannot be decoded" in bad["train/cat/cut.png"]
    assert [tuple(finding) for finding in report.odd] == [("train/cat/jpeg.png", "is JPEG, though its name says .png")]
    assert report.rotated == 1
    assert report.modes["CMYK"] == report.modes["L"] == 1
    assert report.formats["JPEG"] == 4
    assert tuple(report.width) == (12, 12, 60) and tuple(report.height) == (10, 10, 60)
    assert report.largest.reason == "60×60"
    assert sorted(report.ignored) == ["readme.txt", "train/cat/notes.md"]
    assert sorted(map(tuple, report.duplicates.pairs)) == [
        ("val/cat/again.png", "train/cat/0.png", True),
        ("val/cat/other.png", "train/dog/1.png", False),
    ]
    assert report.notes == [
        "the numbers of images differ much: cat has 29 images, dog has 2 images",
        "1 class has no validation images: dog",
    ]
    assert report.problems == [] and report.checked == report.images == 35


def test_what_stops_a_training_is_listed_and_does_not_stop_the_look(tmp_path):
    making.tree(tmp_path / "train", {"a": 3, "b": 0})
    making.tree(tmp_path / "val", {"a": 1, "z": 1}, seed=50)
    report = look(tmp_path)
    assert report.problems == [
        "class folder train/b/ has no images",
        "val/z is a class that train/ does not have",
    ]
    assert report.checked == 4
    contact_sheet(find_data(tmp_path), "here")


def test_a_tree_without_split_is_searched_for_images_that_are_there_twice(tmp_path):
    making.tree(tmp_path, {"a": 3, "b": 3})
    (tmp_path / "b" / "copy.png").write_bytes((tmp_path / "a" / "1.png").read_bytes())
    report = look(tmp_path)
    assert [tuple(pair) for pair in report.duplicates.pairs] == [("a/1.png", "b/copy.png", False)]
    assert "no class has enough images for 10% of them to be held out" in report.problems[0]
    making.tree(tmp_path / "c", {"": 10}, seed=50)
    report = look(tmp_path)
    assert "2 classes have too few images for 10% of them to be held out: a, b" in report.notes
    assert report.problems == []


def test_at_most_so_many_images_are_decoded_evenly_spread(tmp_path):
    making.tree(tmp_path / "train", {"a": 30, "b": 30})
    making.tree(tmp_path / "val", {"a": 20, "b": 20}, seed=100)
    seen = []
    report = look(tmp_path, check=10, progress=lambda what, done, total: seen.append((what, done, total)))
    assert report.checked == 10 and report.images == 100
    assert seen[:10] == [("decoding", i, 10) for i in range(10)]
    assert report.duplicates.searched == 10 and report.duplicates.of == 40
    (tmp_path / "train" / "b" / "5.png").write_text("text")
    every = look(tmp_path, check=None)
    assert every.checked == 100 and len(every.bad) == 1
    assert spread(100, 10) == list(range(0, 100, 10)) and spread(3, 10) == [0, 1, 2]
    assert spread(7, 5) == [0, 1, 2, 4, 5]


def test_images_in_memory_are_all_checked(tmp_path):
    making.idx(tmp_path)
    report = look(tmp_path, check=3)
    assert report.checked == 40 and report.native_shape == (5, 4, 1) and report.duplicates.pairs == []


def test_parquet_is_searched_for_duplicates_if_it_is_small(tmp_path):
    making.parquet(tmp_path / "train.parquet", [0, 1, 0, 1])
    making.parquet(tmp_path / "test.parquet", [0])
    assert [tuple(pair) for pair in look(tmp_path).duplicates.pairs] == [
        ("test.parquet row 0", "train.parquet row 0", True)
    ]
    assert look(tmp_path, check=2).duplicates.searched == 0
    assert len(look(tmp_path, check=None).duplicates.pairs) == 1


def test_the_report_is_printed_written_and_drawn(messy, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert run("inspect", messy, "--json", "report.json") == 0
    out = capsys.readouterr().out
    for words in (
        "class folders, 2 classes, 35 images",
        "train/cat/text.jpg: is text, not an image",
        "train/cat/jpeg.png: is JPEG, though its name says .png",
        "val/cat/other.png = train/dog/1.png, in another class",
        "CMYK 1",
        "train/cat/notes.md",
        "1 image stored turned",
        "Contact sheet: contact-sheet-messy.png",
    ):
        assert words in out
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["counts"]["train"] == [29, 2]
    assert {"name": "train/cat/empty.jpg", "reason": "is empty"} in report["bad"]
    assert report["duplicates"]["pairs"][0].keys() == {"one", "other", "same_class"}
    assert report["width"] == {"min": 12, "median": 12, "max": 60}
    assert (tmp_path / "contact-sheet-messy.png").read_bytes().startswith(b"\x89PNG")


def test_what_nothing_can_be_trained_on_is_exit_code_1(tmp_path, monkeypatch, capsys):
    making.tree(tmp_path / "set", {"a": 3, "b": 0})
    monkeypatch.chdir(tmp_path)
    assert run("inspect", "set", "--json", "report.json") == 1
    assert "Problems that prevent training: " in capsys.readouterr().out
    assert (tmp_path / "contact-sheet-set.png").exists() and (tmp_path / "report.json").exists()


def test_names_that_look_like_markup_are_printed_as_they_are(tmp_path, monkeypatch, capsys):
    making.tree(tmp_path / "set", {"[red]x": 10, "y[/]": 10})
    monkeypatch.chdir(tmp_path)
    assert run("inspect", "set") == 0
    out = capsys.readouterr().out
    assert "[red]x" in out and "y[/]" in out and "No problems found." in out


def test_names_stand_for_data_that_needs_no_path(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("inspect", "digits") == 0
    assert "10 classes, 1797 images, all 8×8×1" in capsys.readouterr().out
    from mttt.data.pictures import idx

    monkeypatch.setattr(idx, "find_fashion_mnist", lambda: None)
    assert run("inspect", "fashion-mnist") == 2
    assert "apt install dataset-fashion-mnist" in capsys.readouterr().err


def test_many_classes_and_findings_are_cut_short(tmp_path, monkeypatch, capsys):
    making.tree(tmp_path / "set", {f"c{i:02}": 1 + (i == 7) for i in range(30)})
    for i in range(25):
        (tmp_path / "set" / "c00" / f"bad{i}.jpg").write_text("text")
    monkeypatch.chdir(tmp_path)
    assert run("inspect", "set") == 0
    out = capsys.readouterr().out
    assert "… 20 more" in out and "… and 5 more; --json FILE has them all" in out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["look"], "unknown data command 'look'"),
        (["inspect", "nowhere"], "nowhere does not exist"),
        (["inspect", "empty"], "empty is not a data set of a known kind"),
        (["inspect", "empty"], "no text: no file ends with .txt"),
        (["inspect", "digits", "--check", "0"], "--check 0: must be at least 1, or all"),
        (["inspect", "digits", "--json", "."], ". is a directory"),
        (["inspect", "digits", "--figure", "no/a.png"], "no directory no"),
        (["inspect", "digits", "--figure", "a.jpg"], "a.jpg: the sheet is a PNG file"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(words, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert run(*words) == 2
    error = capsys.readouterr().err
    assert reason in error and error.count("\n") == 1
    assert os.listdir(tmp_path) == ["empty"]


def ink(image):
    """How many pixels are neither paper nor empty places."""
    pixels = np.asarray(image).astype(int)
    return int(((np.abs(pixels - 255).sum(-1) > 3) & (np.abs(pixels - (242, 242, 244)).sum(-1) > 3)).sum())


@pytest.mark.parametrize("classes", [2, 16, 17, 60])
def test_the_sheet_shows_images_of_every_class_that_fits(tmp_path, classes):
    making.tree(tmp_path, {f"class number {i}": 4 for i in range(classes)})
    sheet = contact_sheet(find_data(tmp_path), "here")
    shown = min(classes, 48)
    images = 4 if classes <= 16 else 3
    assert ink(sheet) > shown * images * 96 * 80 * 0.9
    assert sheet.width < 1100 and sheet.height < 2100


def test_images_on_the_sheet_are_upright_and_bad_ones_are_crosses(tmp_path):
    wide = Image.new("RGB", (96, 48), (0, 0, 200))
    wide.paste((200, 0, 0), (0, 0, 48, 48))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise: the left side becomes the top
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    wide.save(tmp_path / "a" / "turned.png", exif=exif)
    (tmp_path / "b" / "text.png").write_text("text")
    pixels = np.asarray(contact_sheet(find_data(tmp_path), "here"))
    rows, columns = np.nonzero((pixels == (200, 0, 0)).all(-1))
    below, _ = np.nonzero((pixels == (0, 0, 200)).all(-1))
    assert len(rows) == 48 * 48 and rows.max() < below.min() and np.ptp(columns) == 47
    assert (pixels == (190, 60, 50)).all(-1).sum() > 100


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "F"])
def test_all_modes_can_be_shown(tmp_path, mode):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Image.new(mode, (3, 200), 1).save(tmp_path / name / "0.tif")
    sheet = np.asarray(contact_sheet(find_data(tmp_path), "here"))
    assert not (sheet == (190, 60, 50)).all(-1).any(), "no cross"
