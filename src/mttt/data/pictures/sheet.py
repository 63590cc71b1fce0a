"""Where a contact sheet is kept. Only a sheet that was drawn here, and that nobody changed, is drawn over."""

import hashlib
import os
import re
import stat
from itertools import count
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from mttt.data.errors import BadExample
from mttt.data.pictures.picture import Unusable, decode, open_picture, read_picture
from mttt.files import whole

_MARK = "mttt contact sheet"
_LETTERS = 60  # of the name of the data


def sheet_file(data: Path, folder: Path) -> Path:
    """Where the sheet of this data goes: contact-sheet-NAME.png, or with a number where that is something else."""
    place = Path(os.path.abspath(data))
    name = re.sub(r"[^\w.-]+", "-", place.name if place.is_dir() else place.name.split(".")[0])[:_LETTERS].strip("-.")
    for number in count(1):
        file = folder / f"contact-sheet-{name or 'data'}{'' if number == 1 else f'-{number}'}.png"
        if not os.path.lexists(file) or _is_ours(file, data):
            return file
    raise AssertionError("there is always another number")


def write_sheet(sheet: Image.Image, file: Path, data: Path) -> None:
    """Write a sheet of this data, so that it is known again."""
    marked = PngInfo()
    marked.add_text(_MARK, _mark(sheet, data))
    with whole(file) as place:
        sheet.save(place, format="PNG", pnginfo=marked)


def _is_ours(file: Path, data: Path) -> bool:
    """Whether this is a sheet of this data as it was written."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return False
        with open_picture(read_picture(file, str(file)), str(file)) as image:
            decode(image)
            return image.info.get(_MARK) == _mark(image, data)
    except (OSError, BadExample, Unusable):
        return False


def _mark(sheet: Image.Image, data: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.abspath(data)) + b"\0" + sheet.tobytes()).hexdigest()
