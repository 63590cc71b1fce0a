"""Images that are stored as the bytes of an image file."""

import io
from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Int32, Int64
from PIL import Image, UnidentifiedImageError

from mttt.data.errors import BadImage
from mttt.data.source import Item

# File names end with these, in any case; what is inside must be one of these formats, whatever the name.
EXTENSIONS = frozenset((".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"))
FORMATS = ("JPEG", "PNG", "BMP", "DIB", "GIF", "WEBP", "TIFF", "PPM")


class Encoded(ABC):
    """A source that reads bytes somewhere; this opens them."""

    labels: Int32[np.ndarray, " n"]

    @abstractmethod
    def read(self, index: int) -> bytes:
        """The bytes of the image file."""

    @abstractmethod
    def name(self, index: int) -> str:
        """What to call the image in messages."""

    def sizes(self) -> Int64[np.ndarray, " n"] | None:
        """How many bytes each image has, if that is known without reading them all."""
        return None

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Item:
        label, name = int(self.labels[index]), self.name(index)
        try:
            data = self.read(index)
        except OSError as error:
            raise BadImage(name, f"cannot be read: {error.strerror or error}") from error
        return Item(open_image(data, name), label)


def open_image(data: bytes, name: str) -> Image.Image:
    """The image in these bytes, not decoded yet."""
    if not data:
        raise BadImage(name, "is empty (0 bytes)")
    try:
        # Formats are named because Pillow knows some that run other programs.
        return Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError as error:
        text = data[:64].isascii() and all(byte >= 32 or byte in b"\t\r\n" for byte in data[:64])
        raise BadImage(name, "is text, not an image" if text else "is not an image that can be read") from error
    except Exception as error:  # broken bytes make Pillow raise nearly anything
        raise BadImage(name, f"cannot be opened: {error}") from error
