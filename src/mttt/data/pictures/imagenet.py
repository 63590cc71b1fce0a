"""ImageNet as its own archives: ILSVRC2012_img_train.tar, a tar file of tar files, and ILSVRC2012_img_val.tar.

Training images are labelled by the tar file they are in: n01440764.tar, and so on; classes are these WordNet ids
(wnids) in sorted order. The validation archive has no labels. They come from one of these files beside it:

    val_labels.txt, val.txt, ILSVRC2012_val_labels.txt
        for each image a line "NAME WNID" or "NAME INDEX"; NAME is ILSVRC2012_val_00000001.JPEG, with or without
        .JPEG or a folder, and INDEX is the place of the class among all wnids in sorted order, from 0 to 999. Lines may
        be in any order.
    LOC_val_solution.csv
        Kaggle's: lines "NAME,WNID …", below a headline.
    ILSVRC2012_validation_ground_truth.txt
        the development kit's: one number a line, for the images in the order of their names. These are ILSVRC2012
        ids, 1 to 1000, which are NOT in the order of wnids, so map_clsloc.txt must be there too: lines
        "WNID ID NAME" that say which is which.
"""

from pathlib import Path, PurePosixPath

import numpy as np

from mttt.data.errors import BadData
from mttt.data.lines import quoted, read_lines
from mttt.data.names import printable
from mttt.data.pictures.encoded import EXTENSIONS
from mttt.data.pictures.headers import Member
from mttt.data.pictures.labels import class_names, one_class
from mttt.data.pictures.members import Members, list_members
from mttt.data.pictures.splits import Found

TRAIN, VALIDATION = "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar"
LISTS = ("val_labels.txt", "val.txt", "ILSVRC2012_val_labels.txt", "LOC_val_solution.csv")
GROUND_TRUTH, IDS = "ILSVRC2012_validation_ground_truth.txt", "map_clsloc.txt"


def find_imagenet(path: Path) -> Found:
    """What is in the archives: in the folder, or the training archive itself with the other beside it."""
    archive = path / TRAIN if path.is_dir() else path
    index = list_members(archive, nested=True)
    members = [member for member in index.members if _is_image(member)]
    wnids = [PurePosixPath(member.name.split(".tar/")[0]).name for member in members]
    classes = tuple(sorted(set(wnids)))
    if not members:
        raise BadData(f"{archive} has no images in tar files")
    label_of = {wnid: label for label, wnid in enumerate(classes)}
    train = _source(archive, members, [label_of[wnid] for wnid in wnids])
    ignored = index.ignored
    validation = archive.with_name(VALIDATION)
    evaluation = None
    if validation.exists():
        index = list_members(validation)
        images = sorted(member for member in index.members if _is_image(member))
        ignored = ignored + index.ignored
        evaluation = _source(validation, images, _validation_labels(validation, images, label_of))
    return Found(
        "tar",
        train,
        evaluation,
        "validation",
        class_names(archive, classes),
        problems=tuple(one_class(archive, classes)),
        ignored=tuple(map(printable, ignored)),
    )


def _is_image(member: Member) -> bool:
    name = PurePosixPath(member.name)
    return name.suffix.lower() in EXTENSIONS and not name.name.startswith(".")


def _source(archive: Path, members: list[Member], labels: list[int]) -> Members:
    return Members((archive,), np.zeros(len(members), np.int32), members, np.array(labels, np.int32))


def _validation_labels(archive: Path, images: list[Member], label_of: dict[str, int]) -> list[int]:
    """The label of each image, from the file that is there."""
    for name in LISTS:
        if (file := archive.with_name(name)).exists():
            return _listed(file, images, label_of)
    truth, ids = archive.with_name(GROUND_TRUTH), archive.with_name(IDS)
    if truth.exists() and ids.exists():
        return _numbered(truth, ids, images, label_of)
    found = f"{GROUND_TRUTH} alone does not say which class is which: add {IDS}" if truth.exists() else ""
    raise BadData(
        f"{archive} has no labels beside it. {found or f'Put {GROUND_TRUTH} and {IDS} there'}, or write {LISTS[0]} "
        f'with lines "ILSVRC2012_val_00000001.JPEG n01751748"'
    )


def _listed(file: Path, images: list[Member], label_of: dict[str, int]) -> list[int]:
    """Labels from lines of a name and a wnid or index."""
    found = {}
    for number, line in enumerate(read_lines(file), 1):
        words = line.replace(",", " ").split()
        if number == 1 and words[:1] == ["ImageId"]:  # Kaggle's headline
            continue
        if len(words) < 2:
            raise BadData(f'{file} line {number} is {quoted(line)}; expected "NAME WNID" or "NAME INDEX"')
        found[_stem(words[0])] = _label(file, number, words[1], label_of)
    return [_of_image(file, found, _stem(image.name)) for image in images]


def _stem(name: str) -> str:
    """The name of an image without folders and without .JPEG, in any case."""
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() in EXTENSIONS else path.name


def _of_image(file: Path, found: dict[str, int], stem: str) -> int:
    if stem not in found:
        raise BadData(f"{file} has no line for {printable(stem)}")
    return found[stem]


def _label(file: Path, number: int, word: str, label_of: dict[str, int]) -> int:
    if word in label_of:
        return label_of[word]
    if word.isdecimal() and len(word) < 10 and int(word) < len(label_of):
        return int(word)
    raise BadData(
        f"{file} line {number} has the class {quoted(word)}; expected a wnid that has training images, or 0 to "
        f"{len(label_of) - 1}: its place among the sorted wnids"
    )


def _numbered(truth: Path, ids: Path, images: list[Member], label_of: dict[str, int]) -> list[int]:
    """Labels from ILSVRC2012 ids, one a line."""
    wnid_of = {words[1]: words[0] for line in read_lines(ids) if len(words := line.split()) >= 2}
    lines = read_lines(truth)
    if len(lines) != len(images):
        raise BadData(f"{truth} has {len(lines)} lines for {len(images)} images")
    labels = []
    for number, line in enumerate(lines, 1):
        if wnid_of.get(line) not in label_of:
            raise BadData(
                f"{truth} line {number} has the id {quoted(line)}, which is no class with training images by {ids.name}"
            )
        labels.append(label_of[wnid_of[line]])
    return labels
