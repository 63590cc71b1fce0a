"""recipe.json: everything that was asked for, what the data were, and what ran it."""

import hashlib
import json
import reprlib
import secrets
from pathlib import Path
from typing import Any

from mttt.files import write_json
from mttt.runs.document import BOOLEAN, OBJECT, TEXT, TEXTS, check, read
from mttt.runs.errors import RunError
from mttt.runs.origin import machine, versions, x64

FORMAT = 3
"""of a run; runs of mttt 0.1 have no number, and those of format 2 no digests"""

_FIELDS = {
    "id": TEXT,
    "recipe": OBJECT,
    "versions": TEXTS,
    "machine": TEXT,
    "x64": BOOLEAN,
    "data": OBJECT,
    "digest": TEXT,
}


def new_header(recipe: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Of a run that begins here. Its id is random: it tells its checkpoints from others, and decides no number."""
    origin = {"versions": versions(), "machine": machine(), "x64": x64()}
    return {"format": FORMAT, "id": secrets.token_hex(16), "recipe": recipe, **origin, "data": data}


def write_header(path: Path, header: dict[str, Any]) -> None:
    """With a digest, so that a run is not continued with another recipe than the one it was trained with."""
    write_json(path / "recipe.json", header | {"digest": _digest(header)})


def read_header(path: Path) -> dict[str, Any]:
    """The header of the run at `path`, checked. It may have more fields."""
    file = path / "recipe.json"
    try:
        header = read(file)
        if isinstance(header, dict) and "recipe" in header and header.get("format") != FORMAT:
            raise RunError(f"{path} is a run of {_whose(header.get('format'))}; this version reads format {FORMAT}")
        if check(header, _FIELDS)["digest"] != _digest(header):
            raise RunError(
                f"{file} was changed after it was written, so the run may not be what it says; bring it back from a "
                f"copy, or start another run with these values: mttt train --recipe {file}"
            )
        return header
    except FileNotFoundError as error:
        raise RunError(f"{path} is gone: there is no recipe.json") from error
    except ValueError as error:
        raise RunError(f"{file} {error}; bring it back from a copy, or train anew in another directory") from error


def _digest(header: dict[str, Any]) -> str:
    text = json.dumps({name: value for name, value in header.items() if name != "digest"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _whose(found: Any) -> str:
    if found is None:
        return "mttt 0.1, and mttt 0.1 reads it"
    return f"another version of mttt (format {reprlib.repr(found)})"
