"""metrics.jsonl: one JSON object a line, in the order of steps."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from mttt.files import contents, write_text
from mttt.runs.directory import open_plain
from mttt.runs.document import COUNT, LOSSES_OR_NULL, NUMBER, NUMBER_OR_NULL, SHARE, TEXT, check, parse
from mttt.runs.errors import RunError

Record = dict[str, Any]

_LIMIT = 2**31
_ALL = {"kind": TEXT, "step": COUNT}
_SPEED = {"examples_per_second": NUMBER_OR_NULL}
_OF_KIND = {
    "train": {"epoch": NUMBER, "loss": NUMBER, "accuracy": NUMBER, "rate": NUMBER, **_SPEED},
    "evaluation": {
        "epoch": NUMBER,
        "loss": NUMBER_OR_NULL,
        "accuracy": SHARE,
        "inner_losses": LOSSES_OR_NULL,
        "examples": COUNT,
        **_SPEED,
    },
    "skipped": {"part": TEXT, "name": TEXT, "reason": TEXT},
}


class Metrics:
    """The file of metrics of one run."""

    def __init__(self, path: Path):
        self.path = path

    def append(self, record: Record) -> None:
        with open(open_plain(self.path, os.O_WRONLY | os.O_APPEND), "a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")

    def flush(self) -> None:
        """Onto the disk, before a checkpoint claims that these lines are there."""
        number = open_plain(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.fsync(number)
        finally:
            os.close(number)

    def read(self, kind: str | None = None) -> list[Record]:
        """All records, or those of one kind. A last line that a kill cut off is not a record; others must be whole."""
        try:
            *lines, last = contents(self.path, _LIMIT).split(b"\n")
        except FileNotFoundError:
            return []
        records = [self._record(number, line) for number, line in enumerate(lines, start=1)]
        with suppress(ValueError):
            records.append(checked(last))
        return [record for record in records if kind is None or record["kind"] == kind]

    def _record(self, number: int, line: bytes) -> Record:
        try:
            return checked(line)
        except ValueError as error:
            raise RunError(
                f"{self.path}: line {number} {error}; bring the file back from a copy, or take the line out "
                "if you can do without it"
            ) from error

    def rewind(self, step: int) -> None:
        """Forget what was written after `step`: a resumed run writes it again."""
        kept = [record for record in self.read() if record["step"] <= step]
        write_text(self.path, "".join(json.dumps(record) + "\n" for record in kept))


def checked(line: bytes) -> Record:
    """The record of a line. A ValueError says in a few words what is wrong with it."""
    record = check(parse(line), _ALL)
    return check(record, _OF_KIND.get(record["kind"], {}))
