"""Numbers of things in messages."""


def counted(number: int, one: str, several: str = "") -> str:
    """1 image, 2 images; `several` is a plural that does not end with an s alone."""
    return f"{number} {one if number == 1 else several or one + 's'}"
