"""Texts on disk: a file, several, or a folder; and the one that ships with the package."""

import lzma
import os
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from mttt.data.errors import BadData, cannot_read
from mttt.data.text.text import Letters, Text, TextFiles
from mttt.data.walk import Left, walk

EXTENSIONS = (".txt", ".text", ".md", ".rst")
"""of the files that are read in a folder; a file that is named is read, whatever it is called"""
_LEVELS = 64


class FoundText(NamedTuple):
    """A text, and what lies beside its files and is not read."""

    text: Text
    ignored: tuple[str, ...] = ()


def shakespeare() -> Letters:
    """Passages of plays by Shakespeare, a megabyte, which ship with the package."""
    with (files("mttt.data.text") / "files" / "shakespeare.txt.xz").open("rb") as file:
        return Letters(lzma.decompress(file.read()), "shakespeare")


def paths_in(path: str) -> list[Path]:
    """The files and folders that a text names: one, or several with the sign between them that PATH has."""
    one = Path(path).expanduser()
    if one.exists() or os.pathsep not in path:
        return [one]
    return [Path(each).expanduser() for each in path.split(os.pathsep) if each]


def find_text(path: str) -> FoundText:
    """The text at a path, or at several: files in the order of the paths, those of a folder sorted by name."""
    found, ignored = [], []
    for place in paths_in(path):
        if not place.is_dir():
            found.append(place)
            continue
        inside, others = _in_folder(place)
        if not inside:
            wanted = ", ".join(EXTENSIONS)
            raise BadData(f"{place} has no text: no file in it ends with {wanted}. Name other files one by one")
        found += inside
        ignored += others
    text = TextFiles(found, path)
    if not len(text):
        raise BadData(f"{path} is empty: there is nothing to learn from")
    return FoundText(text, tuple(ignored))


def _in_folder(folder: Path) -> tuple[list[Path], list[str]]:
    try:
        folder.stat()
    except OSError as error:
        raise cannot_read(folder, error) from error
    inside, others = [], []
    for each in walk(folder, "", _LEVELS, {}):
        if isinstance(each, Left):
            if each.error is not None:
                raise each.error
            others.append(each.folder)
        elif each.lower().endswith(EXTENSIONS):
            inside.append(each)
        else:
            others.append(each)
    return [folder / name for name in sorted(inside)], sorted(others)
