"""Refusing impossible numbers, with the reason. What is checked goes by the name of its field."""

import math

from mttt.fields import FieldError


def positive(**values: float | int) -> None:
    """Every value is finite and above 0."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise FieldError(name, value, "must be a finite number above 0")


def not_negative(**values: float | int) -> None:
    """Every value is finite and 0 or more."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0):
            raise FieldError(name, value, "must be a finite number, 0 or more")


def at_most(limit: float | int, **values: float | int) -> None:
    """No value is above the limit: larger ones are typing errors, and would fill the memory or take for ever."""
    for name, value in values.items():
        if value > limit:
            raise FieldError(name, value, f"must be at most {limit:,}")


def fraction(**values: float | int) -> None:
    """Every value is in [0, 1)."""
    for name, value in values.items():
        if not 0 <= value < 1:
            raise FieldError(name, value, "must be at least 0 and less than 1")
