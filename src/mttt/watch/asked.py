"""What the page asks for: JSON that anybody may have written, checked before it is used."""

from collections.abc import Mapping
from typing import Any


class Refused(ValueError):
    """A request that cannot be answered; the sentence is for who asked, `status` is HTTP's."""

    def __init__(self, sentence: str, status: int = 400):
        super().__init__(sentence)
        self.status = status


def whole(request: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """A whole number of the request, in its bounds."""
    value: Any = request.get(name)
    if type(value) is float and value.is_integer():  # JSON has one kind of number
        value = int(value)
    if type(value) is not int or not least <= value <= most:
        raise Refused(f"{name} = {_short(value)}: expected a whole number from {least:,} to {most:,}")
    return value


def number(request: Mapping[str, Any], name: str, least: float, most: float, *, symbol: str | None = None) -> float:
    """A number of the request, in its bounds. `symbol` is what the page calls it."""
    value: Any = request.get(name)
    if type(value) not in (int, float) or not least <= value <= most:  # NaN is not between them
        raise Refused(f"{symbol or name} = {_short(value)}: expected a number from {least:,g} to {most:,g}")
    return float(value)


def text(request: Mapping[str, Any], name: str, most: int) -> str:
    """A text of the request, of at most so many characters."""
    value: Any = request.get(name)
    if not isinstance(value, str):
        raise Refused(f"{name} = {_short(value)}: expected a text")
    if len(value) > most:
        raise Refused(f"{name} has {len(value):,} characters; expected at most {most:,}")
    return value


def truth(request: Mapping[str, Any], name: str) -> bool:
    """A truth value of the request; what is not there is false."""
    value = request.get(name, False)
    if type(value) is not bool:
        raise Refused(f"{name} = {_short(value)}: expected true or false")
    return value


def _short(value: Any) -> str:
    """What came, in few words."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    said = "nothing" if value is None else repr(value)
    return said if len(said) <= 40 else f"{said[:40]}…"
