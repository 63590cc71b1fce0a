"""Sets that are stored in many numbered files."""

import re
from pathlib import Path
from typing import NamedTuple

from mttt.data.errors import BadData
from mttt.data.splits import EVALUATIONS, split_called, split_in

_OF = re.compile(r"(.*?)(\d+)-of-(\d+)")
_NUMBERED = re.compile(r"(.*?)(\d+)\.[^.]+")


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
    if path.is_file():
        return Shards([path], [], "", [], [])
    files = [*path.glob(f"*{extension}"), *path.glob(f"*/*{extension}"), *path.glob(f"*/*/*{extension}")]
    files = sorted(file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts))
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
        expected = range(count) if count is not None else range(min(present), max(present) + 1)
        if gaps := sorted(set(expected) - set(present)):
            some = ", ".join(map(str, gaps[:5])) + (", …" if len(gaps) > 5 else "")
            problems.append(f"{len(gaps)} of {len(expected)} files {prefix}… are missing: number {some}")
    return problems
