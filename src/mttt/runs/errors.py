"""What can be wrong with a run."""


class RunError(Exception):
    """A run that is not there, is in use, is damaged, or is another one than was asked for."""


class InUse(RunError):
    """Another process trains the run."""


class NotWritten(RunError):
    """A training cannot go on writing to its run. What it has saved is whole."""


class DamagedCheckpoint(UserWarning):
    """A checkpoint was not whole, and an older one was used."""
