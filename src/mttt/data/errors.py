"""What can be wrong with data."""


class BadData(ValueError):
    """A data set that cannot be used as it is."""


class BadImage(ValueError):
    """One picture that cannot be used: which, and why."""

    def __init__(self, name: str, reason: str):
        super().__init__(name, reason)  # both, so that it can be pickled: workers send their errors home
        self.name, self.reason = name, reason

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"
