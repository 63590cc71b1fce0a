"""Sets that are stored in many numbered files."""

import re
from itertools import count as count_from, islice
from pathlib import Path
from typing import NamedTuple

from mttt.data.errors import BadData
from mttt.data.names import printable
from mttt.data.plural import counted
from mttt.data.splits import EVALUATIONS, split_called, split_in
from mttt.data.walk import files_below

_OF = re.compile(r"(.*?)([0-9]{1,18})-of-([0-9]{1,18})", re.DOTALL)
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})\.[^.]+", re.DOTALL)


class Shards(NamedTuple):
    """Files to train and to evaluate on."""

    train: list[Path]
    evaluation: list[Path]
    evaluation_name: str
    problems: list[str]
    ignored: list[str]

    @property
    def parts(self) -> dict[str, list[Path]]:
        """The files by the names of their parts."""
        if not self.evaluation:
            return {"all": self.train}
        return {"train": self.train, self.evaluation_name: self.evaluation}


def find_shards(path: Path, extension: str) -> Shards:
    """The files of a set: in the folder, or in one of its folders (data/, or one for each split)."""
    if not path.is_dir():
        return Shards([path], [], "", [], [])
    files = sorted(path / file for file in files_below(path, 3) if file.endswith(extension))
    if not files:
        raise BadData(f"{path} has no {extension} files")
    homes = sorted({_home(file) for file in files})
    if len(homes) > 1:
        names = ", ".join(str(home.relative_to(path)) for home in homes)
        raise BadData(f"{path} has several sets of {extension} files: {names}; name one of them")
    splits: dict[str | None, list[Path]] = {}
    for file in files:
        split = split_called(file.parent.name) if file.parent != homes[0] else None
        splits.setdefault(split or split_in(file.name), []).append(file)
    if None in splits and len(splits) == 1:
        return Shards(splits[None], [], "", _missing(splits[None]), [])
    if "train" not in splits:
        raise BadData(f"{path} has {extension} files of {' and '.join(filter(None, splits))}, but none of train")
    name = next((name for name in EVALUATIONS if name in splits), "")
    used = splits["train"] + splits.get(name, [])
    ignored = [str(file.relative_to(path)) for file in files if file not in used]
    return Shards(
        splits["train"], splits.get(name, []), name, _missing(splits["train"]) + _missing(splits.get(name, [])), ignored
    )


def _home(file: Path) -> Path:
    return file.parent.parent if split_called(file.parent.name) else file.parent


def _missing(files: list[Path]) -> list[str]:
    """Gaps in the numbering: half a download must not pass for a data set."""
    numbers: dict[tuple[str, int | None], list[int]] = {}
    for file in files:
        if match := _OF.match(file.name):
            numbers.setdefault((str(file.parent / match[1]), int(match[3])), []).append(int(match[2]))
        elif match := _NUMBERED.fullmatch(file.name):
            numbers.setdefault((str(file.parent / match[1]), None), []).append(int(match[2]))
    problems = []
    for (prefix, count), present in numbers.items():
        there = set(present)
        first, end = (0, count) if count is not None else (min(there), max(there) + 1)
        gaps = end - first - sum(first <= number < end for number in there)
        if gaps > 0:  # the numbers are only what the names say: there may be a great many
            some = list(islice((number for number in count_from(first) if number not in there), min(gaps, 5)))
            numbers_missing = ", ".join(map(str, some)) + (", …" if gaps > 5 else "")
            missing = "is missing" if gaps == 1 else "are missing"
            files_named = f"{gaps} of {counted(end - first, 'file')} {printable(prefix)}…"
            problems.append(f"{files_named} {missing}: number {numbers_missing}")
    return problems
