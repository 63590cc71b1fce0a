"""Walking through folders that somebody else made: links may go round in circles, and folders may be very deep."""

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mttt.data.errors import BadData, cannot_read

Identity = tuple[int, int]  # device and number of a folder: the same by any path
_JUNK = frozenset(("thumbs.db", "desktop.ini", "__macosx"))  # and whatever begins with a dot


def listing(folder: Path) -> tuple[list[str], list[str]]:
    """Names of the folders and of the files in a folder, sorted by code point, without what systems leave behind."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir()) for entry in entries]
    except OSError as error:
        raise cannot_read(folder, error) from error
    found = sorted((name, is_folder) for name, is_folder in found if name[0] != "." and name.lower() not in _JUNK)
    return [name for name, is_folder in found if is_folder], [name for name, is_folder in found if not is_folder]


def identity(folder: Path) -> Identity:
    """What two paths of the same folder have in common."""
    try:
        status = folder.stat()
    except OSError as error:
        raise cannot_read(folder, error) from error
    return status.st_dev, status.st_ino


class Left(NamedTuple):
    """A folder that is not entered: too deep, if there is no other reason."""

    folder: str
    owner: str | None = None  # the walk that it is part of already
    error: BadData | None = None


def walk(root: Path, folder: str, levels: int, owners: dict[Identity, str]) -> Iterator[str | Left]:
    """Files in a folder of `root` and in those inside, by their paths below `root`.

    Links are followed, and every folder is entered once, by the shortest way. `owners` says by which walk; several
    walks may share it.
    """
    waiting, entered = deque([(folder, 1)]), set()
    while waiting:
        here, level = waiting.popleft()
        try:
            known = identity(root / here)
            if known in entered:
                continue
            if (owner := owners.setdefault(known, folder)) != folder:
                yield Left(here, owner)
                continue
            if level > levels:
                yield Left(here)
                continue
            entered.add(known)
            folders, files = listing(root / here)
        except BadData as error:
            yield Left(here, error=error)
            continue
        prefix = f"{here}/" if here else ""
        yield from (prefix + name for name in files)
        waiting.extend((prefix + name, level + 1) for name in folders)


def files_below(root: Path, levels: int) -> Iterator[str]:
    """Files in a folder and in those inside that can be read, down to so many levels."""
    return (file for file in walk(root, "", levels, {}) if isinstance(file, str))
