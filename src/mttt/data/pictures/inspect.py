"""Looking at a data set before training on it."""

import os
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from PIL import ExifTags, Image

from mttt.data.errors import BadExample
from mttt.data.names import printable
from mttt.data.pictures.duplicates import Duplicates, Pair, find_duplicates, spread
from mttt.data.pictures.picture import Unusable
from mttt.data.pictures.source import PictureSource
from mttt.data.pictures.splits import Found
from mttt.data.pictures.upright import in_channels, upright
from mttt.data.plural import counted

Progress = Callable[[str, int, int], None]
IMBALANCE = 10  # times as many images in the largest class as in the smallest are worth a word
HOLDOUT = 0.1


class Finding(NamedTuple):
    """Something about one image."""

    name: str
    reason: str


class Range(NamedTuple):
    """Smallest, middle and largest of some numbers."""

    min: int
    median: int
    max: int


@dataclass
class Inspection:
    """What was found in a data set."""

    where: str
    kind: str
    classes: tuple[str, ...]
    counts: dict[str, list[int]]
    """images of each class, in each part"""
    native_shape: tuple[int, int, int] | None
    problems: list[str]
    """what prevents training"""
    notes: list[str]
    """what is worth knowing"""
    ignored: list[str]
    """what is there and not read"""
    images: int
    checked: int = 0
    width: Range | None = None
    height: Range | None = None
    smallest: Finding | None = None
    largest: Finding | None = None
    modes: dict[str, int] = field(default_factory=dict)
    formats: dict[str, int] = field(default_factory=dict)
    rotated: int = 0
    """images that EXIF says are to be turned"""
    bad: list[Finding] = field(default_factory=list)
    """images that cannot be decoded"""
    odd: list[Finding] = field(default_factory=list)
    """images that can, but are not what their names say, or about which Pillow warns"""
    duplicates: Duplicates = field(default_factory=lambda: Duplicates([], 0, 0))

    def json(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}


def _plain(value: Any) -> Any:
    """Named tuples as objects with names, which JSON would make lists of."""
    if isinstance(value, Finding | Range | Duplicates | Pair):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def inspect(found: Found, where: str, *, check: int | None = 2000, progress: Progress = lambda *_: None) -> Inspection:
    """Count everything, decode at most `check` images spread evenly (None: all), and look for duplicates."""
    counts = {
        part: np.bincount(source.labels, minlength=len(found.classes)).tolist() for part, source in found.parts.items()
    }
    seen = Inspection(
        printable(where),
        found.kind,
        found.classes,
        counts,
        found.native_shape,
        [*map(printable, found.problems), *_too_few(counts)],
        _notes(found.classes, counts),
        list(map(printable, found.ignored)),
        sum(map(len, found.parts.values())),
    )
    check = check if found.native_shape is None else None  # images of one shape are in memory already
    _check_images(seen, list(found.parts.values()), check, progress)
    seen.duplicates = find_duplicates(found, check, lambda done, total: progress("looking for duplicates", done, total))
    return seen


def _notes(classes: tuple[str, ...], counts: dict[str, list[int]]) -> list[str]:
    train, *others = counts.values()
    notes = []
    least, most = int(np.argmin(train)), int(np.argmax(train))
    if train[most] >= IMBALANCE * max(1, train[least]):
        large, small = (f"{classes[i]} has {counted(train[i], 'image')}" for i in (most, least))
        notes.append(f"the numbers of images differ much: {large}, {small}")
    for part, numbers in zip(list(counts)[1:], others, strict=True):
        if missing := [name for name, number in zip(classes, numbers, strict=True) if number == 0]:
            have = counted(len(missing), "class has", "classes have")
            notes.append(f"{have} no {part} images: {_some(missing)}")
    if not others:
        small = [name for name, number in zip(classes, train, strict=True) if round(HOLDOUT * number) == 0]
        if small and not _too_few(counts):
            have = counted(len(small), "class has", "classes have")
            notes.append(f"{have} too few images for {HOLDOUT:.0%} of them to be held out: {_some(small)}")
    return notes


def _too_few(counts: dict[str, list[int]]) -> list[str]:
    """Training holds images out where there is no test set."""
    train, *others = counts.values()
    if others or any(round(HOLDOUT * number) for number in train):
        return []
    return [
        f"there is no test set, and no class has enough images for {HOLDOUT:.0%} of them to be held out; add images, "
        "or hold out more of them (data.holdout)"
    ]


def _some(names: list[str], limit: int = 5) -> str:
    return ", ".join(names[:limit]) + (", …" if len(names) > limit else "")


def _check_images(seen: Inspection, sources: list[PictureSource], check: int | None, progress: Progress) -> None:
    places = [(source, index) for source in sources for index in range(len(source))] if check is None else None
    if places is None:
        ends = np.cumsum([len(source) for source in sources])
        chosen = spread(seen.images, check)
        owners = np.searchsorted(ends, chosen, side="right")
        places = [
            (sources[owner], place - int(ends[owner - 1] if owner else 0))
            for place, owner in zip(chosen, owners, strict=True)
        ]
    sizes: list[tuple[tuple[int, int], str]] = []
    modes, formats = Counter(), Counter()
    for done, (source, index) in enumerate(places):
        progress("decoding", done, len(places))
        name = source.name(index)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                image = source[index].image
                sizes.append((image.size, name))
                modes[image.mode] += 1
                formats[image.format or "array"] += 1
                if image.format and (odd := _misnamed(name, image.format)):
                    seen.odd.append(Finding(name, odd))
                seen.rotated += _turned(image)
                image.draft(None, (1, 1))  # a JPEG is read to its end, but most of the arithmetic is left out
                in_channels(upright(image), 3)
            except BadExample as error:
                seen.bad.append(Finding(name, printable(error.reason)))
            except Unusable as error:
                seen.bad.append(Finding(name, printable(str(error))))
            except Exception as error:  # broken bytes make Pillow raise nearly anything
                seen.bad.append(Finding(name, f"cannot be decoded: {printable(str(error))}"))
        seen.odd += [Finding(name, printable(str(warning.message))) for warning in said]
    seen.checked, seen.modes, seen.formats = len(places), dict(modes.most_common()), dict(formats.most_common())
    if sizes:
        seen.width, seen.height = (_range([size[axis] for size, _ in sizes]) for axis in (0, 1))
        sizes.sort(key=lambda one: one[0][0] * one[0][1])
        seen.smallest, seen.largest = (Finding(name, f"{w}×{h}") for (w, h), name in (sizes[0], sizes[-1]))


def _range(numbers: list[int]) -> Range:
    return Range(min(numbers), int(np.median(numbers)), max(numbers))


def _turned(image: Image.Image) -> bool:
    return image.getexif().get(ExifTags.Base.Orientation, 1) in range(2, 9)


def _misnamed(name: str, kind: str) -> str | None:
    """What the content is, if the extension says otherwise."""
    extension = os.path.splitext(name)[1].lower()
    expected = Image.registered_extensions().get(extension)
    same = {"MPO": "JPEG", "DIB": "BMP"}  # kinds of the same thing, called alike
    if expected is None or same.get(kind, kind) == expected or kind == expected:
        return None
    return f"is {kind}, though its name says {extension}"
