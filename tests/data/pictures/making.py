"""Small data sets of every kind, made where a test wants them."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image


def picture(seed: int = 0, size: tuple[int, int] = (12, 10), kind: str = "PNG", mode: str = "RGB", **options) -> bytes:
    """The bytes of an image file."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, kind, **options)
    return file.getvalue()


def tree(root: Path, classes: dict[str, int], extension: str = ".png", seed: int = 0) -> Path:
    """Class folders with so many images each, all different."""
    for name, count in classes.items():
        (root / name).mkdir(parents=True)
        for i in range(count):
            seed += 1
            (root / name / f"{i}{extension}").write_bytes(picture(seed))
    return root


def idx_bytes(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.astype(np.uint8).tobytes()


def idx(root: Path, *, train: int = 30, test: int = 10, gzipped: bool = True, dot: bool = False) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for part, count in (("train", train), ("t10k", test)):
        for content, array in (("images", rng.integers(0, 256, (count, 5, 4))), ("labels", np.arange(count) % 10)):
            name = f"{part}-{content}{'.' if dot else '-'}idx{array.ndim}-ubyte"
            data = idx_bytes(array)
            (root / (name + ".gz" * gzipped)).write_bytes(gzip.compress(data) if gzipped else data)
    return root


def cifar(root: Path, layout, classes: int) -> Path:
    """Files as the layout says; pixel (row r, column c, channel k) of image i is i + 100k + 32r + c, modulo 256."""
    root.mkdir(parents=True)
    for name, count in [(name, layout.train_images) for name in layout.train] + [(layout.test, layout.test_images)]:
        images = np.arange(count)[:, None, None, None]
        k, r, c = np.ogrid[:3, :32, :32]
        pixels = (images + 100 * k + 32 * r + c) % 256
        labels = np.stack([np.zeros(count, np.int64)] * (layout.labels - 1) + [np.arange(count) % classes], axis=1)
        rows = np.concatenate([labels, pixels.reshape(count, -1)], axis=1)
        (root / name).write_bytes(rows.astype(np.uint8).tobytes())
    (root / layout.names).write_text("\n".join(f"class{i}" for i in range(classes)) + "\n\n")
    return root


def tar(path: Path, files: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tar_bytes(files))
    return path


def tar_bytes(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def parquet(
    path: Path, labels: list, *, names: list[str] | None = None, plain: bool = False, group: int = 3, **other
) -> Path:
    """A shard as the Hugging Face library writes it; image i of it is `picture(i)`."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    images = [picture(i) for i in range(len(labels))]
    kind = pa.binary() if plain else pa.struct({"bytes": pa.binary(), "path": pa.string()})
    column = pa.array(
        images if plain else [{"bytes": image, "path": f"{i}.png"} for i, image in enumerate(images)], kind
    )
    table = pa.table({"image": column, "label": labels, **other})
    if names is not None:
        features = {"label": {"names": names, "_type": "ClassLabel"}, "image": {"_type": "Image"}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=group)
    return path


def pixels(source, index: int) -> np.ndarray:
    return np.asarray(source[index].image)


def decoded(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)))
