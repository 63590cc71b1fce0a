"""What can be wrong with data."""

import lzma
import tarfile
import zlib

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


def cannot_read(what: object, error: Exception) -> BadData:
    """The error for a file or folder that cannot be read at all."""
    return BadData(f"{what} cannot be read: {getattr(error, 'strerror', None) or error}")
