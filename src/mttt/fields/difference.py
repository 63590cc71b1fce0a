"""Where two descriptions differ, as data."""

from typing import Any, NamedTuple

from mttt.fields.error import join


class Difference(NamedTuple):
    """One field: its path, what it was there, and what it is here."""

    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.path}: {self.old} there, {self.new} here"


def differences(old: Any, new: Any, path: str = "") -> list[Difference]:
    """Where two encoded things differ. A field that is not there counts as None."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = sorted(set(old) | set(new))
        return [found for name in names for found in differences(old.get(name), new.get(name), join(path, name))]
    return [] if old == new else [Difference(path, old, new)]
