"""What is in a tar file, by its headers alone.

Python's own reader follows whatever a header says: backwards, into itself, or through a header of gigabytes. This one
goes forward only, and reads no more of a header than a name can have.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

from mttt.data.errors import BadData

_BLOCK = 512
_LONGEST = 2**16  # bytes of an extended header: names, and what systems add to them
_PACKED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh")
_FOLDER = b"5"
_REGULAR = (b"0", b"\0", b"7")
_WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")
_KINDS = {b"1": "a link", b"2": "a link", b"3": "a device", b"4": "a device", b"6": "a named pipe", b"S": "sparse"}


class Member(NamedTuple):
    """A file in a tar file."""

    name: str
    offset: int
    size: int


class Strange(NamedTuple):
    """Something else in a tar file, and what it is."""

    name: str
    kind: str


@runtime_checkable
class Readable(Protocol):
    """A file, or what is unpacked from one."""

    def seek(self, offset: int, /) -> int: ...
    def read(self, size: int, /) -> bytes | None: ...


def is_packed(head: bytes) -> bool:
    """Whether a file that begins with these bytes is compressed."""
    return head.startswith(_PACKED)


def read_headers(file: Readable, name: str, start: int, size: int) -> Iterator[Member | Strange]:
    """What is in the tar file of `size` bytes that lies in `file` from `start`. BadData if it is cut off or broken."""

    def broken(place: int) -> BadData:
        return BadData(f"{name} is not a whole tar file: it is cut off or broken at byte {place}")

    def read(place: int, count: int) -> bytes:
        file.seek(start + place)
        data = file.read(count) if place + count <= size else None
        if data is None or len(data) < count:
            raise broken(place)
        return data

    place = 0
    extended: dict[str, str] = {}
    while any(header := read(place, _BLOCK)):
        if is_packed(header) and place == 0:
            raise BadData(f"{name} is compressed; images can be read out of tar files as they are only: unpack it once")
        kind = header[156:157]
        length = _number(extended.get("size", "")) if "size" in extended else _field(header[124:136])
        data = place + _BLOCK
        if length is None or not _is_header(header):
            raise broken(place)
        following = data + (0 if kind in _WITHOUT_DATA else -(-length // _BLOCK) * _BLOCK)
        if kind in b"LKxXg":
            if length > _LONGEST:
                raise BadData(f"{name} has a header of {length:,} bytes at byte {place}; at most {_LONGEST:,} are read")
            text = read(data, length)
            extended |= {"path": _text(text)} if kind == b"L" else _records(text) if kind in b"xX" else {}
        else:
            if following > size:
                raise broken(place)
            yield from _entry(header, kind, extended, start + data, length)
            extended = {}
        place = following


def _entry(header: bytes, kind: bytes, extended: dict[str, str], data: int, length: int) -> Iterator[Member | Strange]:
    path, prefix = _text(header[:100]), _text(header[345:500])
    if prefix and kind not in b"LKS":
        path = f"{prefix}/{path}"
    path = extended.get("path", path)
    if kind == _FOLDER or (kind == b"\0" and path.endswith("/")):
        return
    if any(key.startswith("GNU.sparse") for key in extended):
        yield Strange(path, _KINDS[b"S"])
    elif kind in _REGULAR:
        yield Member(path, data, length)
    else:
        yield Strange(path, _KINDS.get(kind, "of an unknown kind"))


def _is_header(header: bytes) -> bool:
    """Whether the sum of its bytes, or of them with a sign, is what it says; its own place counts as spaces."""
    bare = header[:148] + b" " * 8 + header[156:]
    signed = sum(byte - 256 * (byte > 127) for byte in bare)
    return _field(header[148:156]) in (sum(bare), signed)


def _field(field: bytes) -> int | None:
    """A number: octal digits, or, behind a byte of 128, binary."""
    if field[0] == 0o200:
        return int.from_bytes(field[1:], "big")
    digits = field.split(b"\0")[0].strip()
    return int(digits or b"0", 8) if all(digit in b"01234567" for digit in digits) else None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _text(field: bytes) -> str:
    return field.split(b"\0")[0].decode("utf-8", "surrogateescape")


def _records(text: bytes) -> dict[str, str]:
    """The records "LENGTH KEY=VALUE" of an extended header, as far as they are whole; LENGTH is of all of it."""
    found, place = {}, 0
    while (space := text.find(b" ", place, place + 8)) > 0:
        length = _number(text[place:space].decode("latin-1")) or 0
        record = text[space + 1 : place + length]
        if not record.endswith(b"\n"):
            break
        key, _, value = record[:-1].partition(b"=")
        found[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
        place += length
    return found
