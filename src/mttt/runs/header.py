"""recipe.json: everything that was asked for, what the data were, and what ran it."""

import reprlib
import secrets
from pathlib import Path
from typing import Any

from mttt.runs.document import BOOLEAN, OBJECT, TEXT, TEXTS, check, read
from mttt.runs.errors import RunError
from mttt.runs.origin import machine, versions, x64

FORMAT = 3
"""of a run; runs of mttt 0.1 have no number, and those of format 2 no digests"""

_FIELDS = {"id": TEXT, "recipe": OBJECT, "versions": TEXTS, "machine": TEXT, "x64": BOOLEAN, "data": OBJECT}


def new_header(recipe: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Of a run that begins here. Its id is random: it tells its checkpoints from others, and decides no number."""
    origin = {"versions": versions(), "machine": machine(), "x64": x64()}
    return {"format": FORMAT, "id": secrets.token_hex(16), "recipe": recipe, **origin, "data": data}


def read_header(path: Path) -> dict[str, Any]:
    """The header of the run at `path`, checked. It may have more fields."""
    file = path / "recipe.json"
    try:
        header = read(file)
        if isinstance(header, dict) and "recipe" in header and header.get("format") != FORMAT:
            raise RunError(f"{path} is a run of {_whose(header.get('format'))}; this version reads format {FORMAT}")
        return check(header, _FIELDS)
    except FileNotFoundError as error:
        raise RunError(f"{path} is gone: there is no recipe.json") from error
    except ValueError as error:
        raise RunError(f"{file} {error}; bring it back from a copy, or train anew in another directory") from error


def _whose(found: Any) -> str:
    if found is None:
        return "mttt 0.1, and mttt 0.1 reads it"
    return f"another version of mttt (format {reprlib.repr(found)})"
