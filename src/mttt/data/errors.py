"""What can be wrong with data."""

import lzma
import tarfile
import zlib

from mttt.files import NotRegular, TooLarge

# What reading a file, an archive or something compressed raises.
UNREADABLE = (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error)


class BadExample(ValueError):
    """One example that cannot be used: its name and the reason."""

    def __init__(self, name: str, reason: str):
        super().__init__(name, reason)  # both, so that a worker process can send it
        self.name, self.reason = name, reason

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class BadData(ValueError):
    """A whole set, or one of the files that many examples are in, that cannot be used."""


def why(path: object, error: Exception) -> str:
    """Why a file cannot be read, without its path: "is a named pipe, …", "cannot be read: Permission denied"."""
    if isinstance(error, NotRegular | TooLarge):
        return str(error).removeprefix(f"{path} ")
    if isinstance(error, UnicodeDecodeError):
        return f"cannot be read: it is not UTF-8 text (byte {error.start})"
    return f"cannot be read: {getattr(error, 'strerror', None) or error or type(error).__name__}"


def cannot_read(path: object, error: Exception) -> BadData:
    """The error for a file or folder that cannot be read at all."""
    return BadData(f"{path} {why(path, error)}")
