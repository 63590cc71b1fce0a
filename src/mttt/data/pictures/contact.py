"""A sheet with a few images of each class, to see what one has."""

from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mttt.data.names import printable
from mttt.data.pictures.duplicates import spread
from mttt.data.pictures.source import PictureSource
from mttt.data.pictures.splits import Found
from mttt.data.pictures.upright import in_channels, upright
from mttt.data.plural import counted

_CELL, _GAP, _MARGIN, _HEADING, _CAPTION = 96, 6, 24, 60, 24
_WIDTH = 10 * (_CELL + _GAP)  # about
_ROWS = 16  # of classes at most
_PAPER, _INK, _PALE, _EMPTY, _BAD = "white", (30, 30, 34), (120, 120, 128), (242, 242, 244), (190, 60, 50)


Font = ImageFont.ImageFont | ImageFont.FreeTypeFont


class _Plan(NamedTuple):
    """A tile is the images of one class and their caption: to the left in a sheet of few classes, else below."""

    images: int  # in a tile
    columns: int  # of tiles
    size: tuple[int, int]  # of a tile
    first: tuple[int, int]  # place of its first image
    caption: int  # width


def _plan(classes: int, most: int) -> _Plan:
    if classes <= _ROWS:
        images, label = max(1, min(8, most)), 150
        return _Plan(images, 1, (label + images * (_CELL + _GAP), _CELL + _GAP), (label, 0), label - 12)
    images = max(1, min(3, most))
    width = images * (_CELL + _GAP)
    apart = _GAP if images == 1 else 3 * _GAP
    return _Plan(images, _WIDTH // width, (width + apart, _CELL + _CAPTION), (0, 0), width - _GAP)


def contact_sheet(found: Found, where: str) -> Image.Image:
    """Some training images of each class; of so many classes, evenly spread, as fit on a sheet."""
    where = printable(where)
    plan = _plan(len(found.classes), int(np.bincount(found.train.labels, minlength=1).max()))
    classes = spread(len(found.classes), plan.columns * _ROWS)
    rows = -(-len(classes) // plan.columns)
    columns = min(plan.columns, len(classes))
    large, small = (_font(size, "".join((where, *found.classes))) for size in (18, 14))
    width = max(2 * _MARGIN + columns * plan.size[0] - _GAP, 480)
    sheet = Image.new("RGB", (width, _HEADING + rows * plan.size[1] + _MARGIN), _PAPER)
    draw = ImageDraw.Draw(sheet)
    about = f"{len(found.train):,} images to learn from, {counted(len(found.classes), 'class', 'classes')}"
    if len(classes) < len(found.classes):
        about += f", {len(classes)} of them here"
    draw.text((_MARGIN, 12), _fit(draw, where, large, width - 2 * _MARGIN), _INK, large)
    draw.text((_MARGIN, 35), about, _PALE, small)
    for place, label in enumerate(classes):
        x = _MARGIN + place % plan.columns * plan.size[0]
        y = _HEADING + place // plan.columns * plan.size[1]
        members = np.flatnonzero(found.train.labels == label)
        count = f"{len(members):,}"
        if plan.columns == 1:
            draw.text((x, y + _CELL // 2 - 1), _fit(draw, found.classes[label], small, plan.caption), _INK, small, "ls")
            draw.text((x, y + _CELL // 2 + 4), count, _PALE, small, "lt")
        else:
            room = plan.caption - 4 - round(draw.textlength(count, small))
            draw.text((x, y + _CELL + 2), _fit(draw, found.classes[label], small, room), _INK, small)
            draw.text((x + plan.caption, y + _CELL + 2), count, _PALE, small, "ra")
        for column, which in enumerate(spread(len(members), plan.images)):
            corner = (x + plan.first[0] + column * (_CELL + _GAP), y + plan.first[1])
            _cell(sheet, found.train, int(members[which]), corner)
    return sheet


def _cell(sheet: Image.Image, source: PictureSource, index: int, corner: tuple[int, int]) -> None:
    """One image, whole, in the middle of its place; a cross where there is none to see."""
    draw = ImageDraw.Draw(sheet)
    left, top = corner
    try:
        image = _shrunk(source[index].image)
    except Exception:  # broken bytes make Pillow raise nearly anything; the report says which
        draw.rectangle((left, top, left + _CELL - 1, top + _CELL - 1), _EMPTY)
        inset = _CELL // 3
        for a, b in (
            ((inset, inset), (_CELL - inset, _CELL - inset)),
            ((inset, _CELL - inset), (_CELL - inset, inset)),
        ):
            draw.line((left + a[0], top + a[1], left + b[0], top + b[1]), _BAD, 4)
        return
    draw.rectangle((left, top, left + _CELL - 1, top + _CELL - 1), _EMPTY)
    sheet.paste(image, (left + (_CELL - image.width) // 2, top + (_CELL - image.height) // 2))


def _shrunk(image: Image.Image) -> Image.Image:
    """The image upright, in RGB, as large as a cell; pixels of small images stay squares."""
    image.draft(None, (2 * _CELL, 2 * _CELL))
    image = in_channels(upright(image), 3)
    longest = max(image.size)
    scale = max(1, _CELL // longest) if longest < _CELL else _CELL / longest
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.NEAREST if scale > 1 else Image.Resampling.LANCZOS)


def _font(size: int, text: str) -> Font:
    """Pillow's own font, which has English letters only, or one of the system's for others, if there is one."""
    for name in () if text.isascii() else ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf"):
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)


def _fit(draw: ImageDraw.ImageDraw, text: str, font: Font, width: int) -> str:
    """The text, cut with an ellipsis where it is too long."""
    if len(text) <= width and draw.textlength(text, font) <= width:
        return text
    text = text[:width]  # letters of less than a pixel are not to be seen
    while text and draw.textlength(text + "…", font) > width:
        text = text[:-1]
    return text + "…"
