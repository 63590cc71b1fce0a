"""Pictures to try transforms on."""

import io

import numpy as np
from PIL import Image

from mttt.data.pictures.picture import open_picture


def picture(height=20, width=30, channels=3, seed=0, low=0, high=256):
    values = np.random.default_rng(seed).integers(low, high, (height, width, channels), dtype=np.uint8)
    return Image.fromarray(values if channels > 1 else values[..., 0])


def gradient(height, width):
    """Every pixel another colour: red is the column, green the row."""
    rows, columns = np.indices((height, width))
    return np.stack([columns, rows, 0 * rows], axis=-1).astype(np.uint8)


def rng(seed=0):
    return np.random.default_rng(seed)


def values(image):
    return np.asarray(image).astype(int)


def jpeg(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "JPEG", quality=95)
    file.seek(0)
    return open_picture(file, "a picture")
