"""The seal of a checkpoint: whose it is, of which step, and what its files are, so that a changed bit is noticed."""

import hashlib
import json
import stat
from pathlib import Path
from typing import Any

from mttt.files import regular, write_json
from mttt.runs.directory import entries
from mttt.runs.document import COUNT, OBJECT, TEXT, check, read

_NAME = "seal.json"
_FIELDS = {"run": TEXT, "step": COUNT, "position": OBJECT, "arrays": OBJECT, "files": OBJECT, "digest": TEXT}


class Damaged(Exception):
    """A checkpoint is not what was saved; why, in words that follow "it"."""


def seal(folder: Path, run: str, step: int, position: dict[str, Any], arrays: dict[str, str]) -> None:
    """Seal what is in a folder. `arrays` are names, and dtypes with shapes."""
    files = {name: [size, _digest(folder / name)] for name, size in _sizes(folder).items()}
    about = {"run": run, "step": step, "position": position, "arrays": arrays, "files": files}
    about = json.loads(json.dumps(about))  # as it will be read again
    write_json(folder / _NAME, about | {"digest": _digest_of(about)})


def is_sealed(folder: Path) -> bool:
    """Whether it is a checkpoint at all; a folder of somebody else has no seal."""
    return (folder / _NAME).is_file()


def position_of(folder: Path) -> dict[str, Any]:
    """The position that a folder was sealed with."""
    return check(read(folder / _NAME), _FIELDS)["position"]


def sealed(folder: Path, run: str, step: int, arrays: dict[str, str]) -> None:
    """Raise a Damaged unless a folder is still what it was, and belongs to this run and step."""
    try:
        about = check(read(folder / _NAME), _FIELDS)
    except FileNotFoundError as error:
        raise Damaged(f"has no {_NAME}") from error
    except ValueError as error:
        raise Damaged(f"has a {_NAME} that {error}") from error
    if about.pop("digest") != _digest_of(about):
        raise Damaged(f"has a {_NAME} that was changed")
    if about["run"] != run:
        raise Damaged("belongs to another run")
    if about["step"] != step:
        raise Damaged(f"was saved at step {about['step']}")
    try:
        _check_files(folder, about["files"])
    except OSError as error:
        raise Damaged(f"cannot be read: {error}") from error
    if about["arrays"] != arrays:
        raise Damaged("was saved with another recipe than recipe.json has now: its arrays are others")


def _check_files(folder: Path, files: dict[str, Any]) -> None:
    found = _sizes(folder)
    if missing := sorted(set(files) - set(found)):
        raise Damaged(f"has lost {missing[0]}")
    for name, size in found.items():
        if name not in files:
            raise Damaged(f"has {name}, which was not saved with it")
        if [size] != files[name][:1] or _digest(folder / name) != files[name][1]:
            raise Damaged(f"has a changed {name}")


def _sizes(folder: Path) -> dict[str, int]:
    """Bytes of the files in a folder and below it, without the seal and hidden files (of network file systems)."""
    found = {}
    for path, status in entries(folder):
        name = str(path.relative_to(folder))
        if stat.S_ISREG(status.st_mode) and name != _NAME and not path.name.startswith("."):
            found[name] = status.st_size
    return found


def _digest(path: Path) -> str:
    total = hashlib.sha256()
    with regular(path) as file:
        while part := file.read(2**20):
            total.update(part)
    return total.hexdigest()


def _digest_of(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
