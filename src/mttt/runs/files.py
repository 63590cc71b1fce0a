"""Writing a file so that it is whole or not there."""

import json
import os
from pathlib import Path
from typing import Any


def write_atomically(path: Path, text: str) -> None:
    """Write beside, flush to disk, rename: a reader, or a crash, never sees half a file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)  # there only if something went wrong


def write_json(path: Path, value: Any) -> None:
    """JSON for people and programs."""
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
