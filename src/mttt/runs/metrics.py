"""metrics.jsonl: one JSON object a line, in the order of steps."""

import json
import os
from pathlib import Path
from typing import Any

from mttt.files import write_text

Record = dict[str, Any]


class Metrics:
    """The file of metrics of one run."""

    def __init__(self, path: Path):
        self.path = path

    def append(self, record: Record) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")

    def flush(self) -> None:
        """Onto the disk, before a checkpoint claims that these lines are there."""
        if self.path.exists():
            with self.path.open("a") as file:
                os.fsync(file.fileno())

    def read(self, kind: str | None = None) -> list[Record]:
        """All whole records, or those of one kind. A line that a kill cut off is not a record."""
        if not self.path.exists():
            return []
        records = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return [record for record in records if kind is None or record["kind"] == kind]

    def rewind(self, step: int) -> None:
        """Forget what was written after `step`: a resumed run writes it again."""
        kept = [record for record in self.read() if record["step"] <= step]
        write_text(self.path, "".join(json.dumps(record) + "\n" for record in kept))
