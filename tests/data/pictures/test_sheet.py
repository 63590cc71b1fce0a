"""Where contact sheets go: nothing that somebody else made, or changed, is drawn over."""

import os

import pytest
from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo

from data.pictures import making
from mttt.data.pictures.sheet import sheet_file, write_sheet


def drawn(folder, data):
    """The name of the sheet that an inspection writes."""
    file = sheet_file(folder / data, folder)
    write_sheet(Image.new("RGB", (20, 10), "green"), file, folder / data)
    return file.name


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("set", "contact-sheet-set.png"),
        ("a/set.v2", "contact-sheet-set.v2.png"),
        ("cifar.tar.gz", "contact-sheet-cifar.png"),
        ("digits", "contact-sheet-digits.png"),
        ("two words\n\x1b[31m", "contact-sheet-two-words-31m.png"),
        ("…", "contact-sheet-data.png"),
        ("x" * 200, f"contact-sheet-{'x' * 60}.png"),
    ],
)
def test_a_sheet_is_called_by_its_data(data, name, tmp_path):
    if "tar" not in data and data != "digits":
        (tmp_path / data).mkdir(parents=True)
    assert sheet_file(tmp_path / data, tmp_path) == tmp_path / name


def test_our_own_sheet_is_drawn_over(tmp_path, monkeypatch):
    assert drawn(tmp_path, "set") == drawn(tmp_path, "set") == "contact-sheet-set.png"
    monkeypatch.chdir(tmp_path)
    assert sheet_file(making.Path("set"), making.Path()).name == "contact-sheet-set.png", "by any path of the data"
    assert drawn(tmp_path, "elsewhere/set") == "contact-sheet-set-2.png", "of other data"


def _edited(file):
    """A sheet that somebody drew on, with a program that keeps the notes in the file."""
    with Image.open(file) as sheet:
        notes = PngInfo()
        for name, value in sheet.info.items():
            notes.add_text(name, value)
        ImageDraw.Draw(sheet).point((3, 3), "red")
        sheet.save(file, pnginfo=notes)


@pytest.mark.parametrize(
    "put",
    [
        lambda file: file.write_bytes(b"mine"),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(making.picture()),
        lambda file: file.write_bytes(file.read_bytes()[:150]),
        _edited,
        lambda file: (file.unlink(), file.symlink_to("nowhere")),
        lambda file: (file.rename(file.with_name("moved")), file.symlink_to("moved")),
        lambda file: (file.unlink(), os.mkfifo(file)),
        lambda file: (file.unlink(), file.mkdir()),
    ],
    ids=["text", "empty", "picture", "cut", "edited", "dangling", "linked", "pipe", "folder"],
)
def test_nothing_else_is(put, tmp_path):
    drawn(tmp_path, "set")
    file = tmp_path / "contact-sheet-set.png"
    put(file)
    before = os.lstat(file)
    assert drawn(tmp_path, "set") == "contact-sheet-set-2.png"
    after = os.lstat(file)
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
