"""JSON that may have been changed by somebody: bounded, parsed, and checked before it is used."""

import json
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mttt.files import NotRegular, TooLarge, contents

LIMIT = 2**26
"""bytes of a document; the names of a million classes have room"""


class Kind(NamedTuple):
    """What a field may hold: in words, and as a test."""

    words: str
    holds: Callable[[Any], bool]


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300  # NaN is not below, and infinity neither


def _losses(value: Any) -> bool:
    """[layer][t], as many of t in each layer; at least one of both."""
    if not isinstance(value, list) or not all(isinstance(layer, list) and layer for layer in value):
        return False
    return len({len(layer) for layer in value}) == 1 and all(_number(loss) for layer in value for loss in layer)


NUMBER = Kind("a finite number", _number)
NUMBER_OR_NULL = Kind("a finite number or null", lambda value: value is None or _number(value))
SHARE = Kind("a number from 0 to 1", lambda value: _number(value) and 0 <= value <= 1)
COUNT = Kind("a whole number, 0 or more", lambda value: type(value) is int and 0 <= value < 2**63)
BOOLEAN = Kind("true or false", lambda value: type(value) is bool)
TEXT = Kind("a text", lambda value: isinstance(value, str))
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
TEXTS = Kind(
    "an object of texts",
    lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values()),
)
LOSSES_OR_NULL = Kind("null or a list of numbers for each layer", lambda value: value is None or _losses(value))


def parse(text: bytes) -> Any:
    """JSON in UTF-8. A ValueError says in a few words what is wrong."""
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits, or NaN
        raise ValueError(f"is not JSON: {error}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def check(value: Any, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The value, if it is an object with these fields; it may have more. A ValueError names the first that is wrong."""
    if not isinstance(value, dict):
        raise ValueError(f"is {reprlib.repr(value)}, and should be an object")
    for name, kind in kinds.items():
        if name not in value:
            raise ValueError(f"has no field {name!r}, which should be {kind.words}")
        if not kind.holds(value[name]):
            raise ValueError(f"has {name} = {reprlib.repr(value[name])}, which should be {kind.words}")
    return value


def read(path: Path) -> Any:
    """The JSON of a file. If it is there, a ValueError says what is wrong with it, in words that follow its name."""
    try:
        return parse(contents(path, LIMIT))
    except FileNotFoundError:
        raise
    except (NotRegular, TooLarge) as error:
        raise ValueError(str(error).removeprefix(f"{path} ")) from error
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from error
