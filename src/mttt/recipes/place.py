"""Paths in recipes."""

from pathlib import Path

from mttt.fields import FieldError


def existing(path: str, what: str, where: str = "") -> Path:
    """The path of data, which is there. `what` it should be, and `where` to get it, are for messages."""
    if not path:
        raise FieldError("data.path", path, ". ".join(filter(None, (what, where))))
    if not (found := Path(path).expanduser()).exists():
        reason = (
            f"there is no such file or folder. It should be {what}; a relative path is relative to where the run was "
            f"started"
        )
        raise FieldError("data.path", path, ". ".join(filter(None, (reason, where))))
    return found
