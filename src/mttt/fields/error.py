"""A field whose value cannot be meant, as data."""

from typing import Any


def join(path: str, name: str) -> str:
    """The path of a field of the part at `path`."""
    return f"{path}.{name}" if path and name else path or name


class FieldError(ValueError):
    """Which field, what came, and why it cannot be. No value (None or "") means that one is missing.

    Only the command line knows how a field is spelt there, so no reason names a flag.
    """

    def __init__(self, path: str, value: Any, reason: str):
        self.path, self.value, self.reason = path, value, reason
        came = " is missing" if self.missing else f"={value}"
        super().__init__(f"{path}{came}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        """So that another process can send it."""
        return FieldError, (self.path, self.value, self.reason)

    @property
    def missing(self) -> bool:
        return self.value is None or self.value == ""

    def under(self, path: str) -> "FieldError":
        """The same error of a part that is itself a field."""
        return FieldError(join(path, self.path), self.value, self.reason)
