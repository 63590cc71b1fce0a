"""Bytes are the tokens of a text: 256 of them, whatever the language and the encoding."""

SIZE = 256


def _name(byte: int) -> str:
    """As Python writes it: a, \\n, \\xe4."""
    return repr(bytes([byte]))[2:-1]


BYTES: tuple[str, ...] = tuple(map(_name, range(SIZE)))
"""what to call each of them"""
