"""Refusing impossible numbers, with the reason. What is checked goes by the name of its field.

Every number has an upper bound, too: one that no training needs, and that nothing overflows below. None is no number
and passes: such a field has another default.
"""

from mttt.fields import FieldError

Number = float | int | None

LARGEST = 2**31 - 1
"""the bound of numbers that nothing is allocated or repeated by"""


def positive(most: int = LARGEST, /, **values: Number) -> None:
    """Every value is above 0, and at most `most`."""
    for name, value in values.items():
        if value is not None and not value > 0:
            raise FieldError(name, value, "must be a finite number above 0")
        _at_most(most, name, value)


def not_negative(most: int = LARGEST, /, **values: Number) -> None:
    """Every value is 0 or more, and at most `most`."""
    for name, value in values.items():
        if value is not None and not value >= 0:
            raise FieldError(name, value, "must be a finite number, 0 or more")
        _at_most(most, name, value)


def within(most: int = LARGEST, /, **values: Number) -> None:
    """Every value is from −`most` to `most`."""
    for name, value in values.items():
        if value is not None and not abs(value) <= most:
            raise FieldError(name, value, f"must be a finite number from {-most:,} to {most:,}")


def fraction(**values: Number) -> None:
    """Every value is in [0, 1)."""
    for name, value in values.items():
        if value is not None and not 0 <= value < 1:
            raise FieldError(name, value, "must be at least 0 and less than 1")


def _at_most(most: int, name: str, value: Number) -> None:
    if value is not None and value > most:
        raise FieldError(name, value, f"must be at most {most:,}")
