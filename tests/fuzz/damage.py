"""Damage to files."""

import contextlib
import json
import os
import random
import shutil
from pathlib import Path

from fuzz.odd import json_value


def damage(root: Path, rng: random.Random, beside: Path) -> str:
    """Damage one file or folder in the tree; what was done. Links lead to `beside`, which nobody should touch."""
    places = sorted(path for path in root.rglob("*") if not path.is_symlink())
    files = [path for path in places if path.is_file()]
    if not files:
        return "nothing left to damage"
    path = rng.choice(places if rng.random() < 0.3 else files)
    how = rng.choice([_flip, _flip, _cut, _empty, _delete, _link, _folder, _pipe, _longer, _random, _swap, _rename])
    if path.suffix in (".json", ".jsonl") and rng.random() < 0.7:
        how = _edit
    name = str(path.relative_to(root))
    with contextlib.suppress(IsADirectoryError):  # bytes of a folder
        return f"{name}: {how(path, rng, beside)}"
    return f"{name}: nothing"


def _flip(path: Path, rng: random.Random, beside: Path) -> str:
    data = bytearray(path.read_bytes())
    places = [rng.randrange(len(data)) for _ in range(rng.choice([1, 1, 1, 5, 50]))] if data else []
    if rng.random() < 0.4:  # headers
        places = [place % 64 % len(data) for place in places]
    for place in places:
        data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(data))
    return f"bits flipped at {places[:5]}"


def _cut(path: Path, rng: random.Random, beside: Path) -> str:
    size = path.stat().st_size
    data = path.read_bytes()[: rng.randrange(size) if size else 0]
    path.write_bytes(data)
    return f"cut to {len(data)} of {size} bytes"


def _empty(path: Path, rng: random.Random, beside: Path) -> str:
    path.write_bytes(b"")
    return "emptied"


def _delete(path: Path, rng: random.Random, beside: Path) -> str:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    return "deleted"


def _link(path: Path, rng: random.Random, beside: Path) -> str:
    to = rng.choice([beside, beside / "precious.txt", beside / "8", beside / "nowhere", path.parent, Path("/dev/zero")])
    _delete(path, rng, beside)
    path.symlink_to(to)
    return f"replaced by a link to {to.name}"


def _folder(path: Path, rng: random.Random, beside: Path) -> str:
    _delete(path, rng, beside)
    (path / rng.choice(["a", "0", "12"])).mkdir(parents=True)
    return "replaced by a folder"


def _pipe(path: Path, rng: random.Random, beside: Path) -> str:
    _delete(path, rng, beside)
    os.mkfifo(path)
    return "replaced by a pipe"


def _longer(path: Path, rng: random.Random, beside: Path) -> str:
    if rng.random() < 0.3:
        os.truncate(path, 2**40)  # it takes no room
        return "1 TiB long"
    with path.open("ab") as file:
        file.write(rng.randbytes(rng.choice([1, 100, 10000])))
    return "bytes added"


def _random(path: Path, rng: random.Random, beside: Path) -> str:
    path.write_bytes(rng.choice([rng.randbytes(200), b"\xff\xfe", b"[" * 10**5, b"7", b"\0" * 1000, b"null", b"[]"]))
    return "overwritten"


def _swap(path: Path, rng: random.Random, beside: Path) -> str:
    others = sorted(other for other in path.parent.rglob("*") if other.is_file())
    other = rng.choice(others)
    path.write_bytes(other.read_bytes())
    return f"overwritten by {other.name}"


def _rename(path: Path, rng: random.Random, beside: Path) -> str:
    names = [
        "99999999999999999999",
        "-1",
        "7",
        "\x1b[31mred",
        "a\nb",
        "ä" * 100,
        os.fsdecode(b"\xff\xfe"),
        ".hidden",
        path.name + ".gz",
    ]
    other = path.with_name(rng.choice(names))
    if not other.exists():
        path.rename(other)
    return f"renamed to {other.name!r}"


def _edit(path: Path, rng: random.Random, beside: Path) -> str:
    """A value of a JSON file removed, or another in its place."""
    lines = path.read_text(errors="replace").splitlines()
    number = rng.randrange(len(lines)) if path.suffix == ".jsonl" and lines else None
    try:
        whole = json.loads(path.read_text() if number is None else lines[number])
    except ValueError:
        return "no JSON to edit"
    part, name = _somewhere(whole, rng)
    if part is None:
        whole, done = json_value(rng), "replaced"
    elif isinstance(part, dict) and rng.random() < 0.25:
        del part[name]
        done = f"{name} removed"
    else:
        part[name] = json_value(rng)
        done = f"{name} = {str(part[name])[:60]!r}"
    text = json.dumps(whole)
    if number is not None:
        lines[number] = text
        text = "\n".join(lines) + "\n"
    path.write_text(text)
    return done


def _somewhere(whole: object, rng: random.Random) -> tuple:
    """A container in it, and a place there."""
    places: list[tuple] = [(None, None)]
    stack = [whole]
    while stack:
        part = stack.pop()
        inside = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for name, value in inside:
            places.append((part, name))
            stack.append(value)
    return rng.choice(places)
