"""Headers of tar files: the same files as Python finds, and none that a header makes up."""

import io
import tarfile

import pytest

from data.pictures import making
from mttt.data import BadData
from mttt.data.pictures.headers import Member, Strange, read_headers

NAMES = ("a.png", "deep/er/" * 12 + "b.png", "x" * 150 + ".png", "y" * 90 + "/" + "z" * 80, "ünï.png", "b\udcff.png")


def listed(data, start=0):
    return list(read_headers(io.BytesIO(bytes(start) + data), "a.tar", start, len(data)))


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_files_are_those_that_python_finds(form):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as file:
        for number, name in enumerate(NAMES):
            if form == tarfile.USTAR_FORMAT and name.startswith("x"):
                continue  # it has no way to say that
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = 500 * number, {"comment": "hello"}
            file.addfile(info, io.BytesIO(bytes(info.size)))
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE):
            info = tarfile.TarInfo("other")
            info.type, info.linkname = kind, "l" * 150 if form != tarfile.USTAR_FORMAT else "l"
            file.addfile(info)
    with tarfile.open(fileobj=io.BytesIO(buffer.getvalue())) as file:
        expected = [Member(each.name, each.offset_data + 512, each.size) for each in file if each.isreg()]
    assert listed(buffer.getvalue(), start=512) == [*expected, Strange("other", "a link")]


def header(name="x.png", size=0, kind=b"0", field=None):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT)[:512])
    if field is not None:
        block[124:136] = field
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


END = bytes(1024)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (header(field=b"\xff" * 12) + END, "cut off or broken at byte 0"),  # a size below zero, which leads backwards
        (header(field=b"\x80" + b"\xff" * 11) + END, "cut off or broken at byte 0"),
        (header(field=b"-0000000777\0") + END, "cut off or broken at byte 0"),
        (header(field=b"not a number") + END, "cut off or broken at byte 0"),
        (header(size=8**11 - 1) + END, "cut off or broken at byte 0"),
        (header(size=8**11 - 1, kind=b"L") + END, "a header of 8,589,934,591 bytes at byte 0"),
        (header(size=8**11 - 1, kind=b"x") + END, "a header of 8,589,934,591 bytes at byte 0"),
        (header(kind=b"L") * 3000, "cut off or broken at byte 1536000"),  # headers of headers, deeper than Python goes
        (header(size=20, kind=b"x") + b"20 size=999999999999" + bytes(492) + header() + END, None),
        (header(size=20, kind=b"x") + b"20 size=99999999999\n" + bytes(492) + header() + END, "broken at byte 1024"),
        (header(size=11, kind=b"x") + b"11 size=-5\n" + bytes(501) + header() + END, "broken at byte 1024"),
        (header(size=9, kind=b"x") + b"9999999 =" + bytes(503) + header() + END, None),
        (b"hello" * 500, "cut off or broken at byte 0"),
        (b"", "cut off or broken at byte 0"),
        (header()[:300], "cut off or broken at byte 0"),
        (header(), "cut off or broken at byte 512"),
    ],
)
def test_headers_that_lie_are_refused(data, reason):
    if reason is None:  # a record that is not whole says nothing
        assert listed(data) == [Member("x.png", len(data) - 1024, 0)]
        return
    with pytest.raises(BadData, match=reason):
        listed(data)


def test_sparse_files_of_newer_archives_are_left_out():
    """Their bytes are not where their headers are."""
    records = b"22 GNU.sparse.major=1\n"
    data = header(size=len(records), kind=b"x") + records.ljust(512, b"\0") + header(size=512) + bytes(512) + END
    assert listed(data) == [Strange("x.png", "sparse")]


def test_a_file_that_follows_a_folder_is_where_it_is():
    data = making.tar_bytes({"a.png": b"hello"})
    assert listed(header("folder/", kind=b"5") + data) == [Member("a.png", 1024, 5)]
