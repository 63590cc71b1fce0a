"""Images that are stored as the bytes of an image file."""

import io
from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Int32, Int64

from mttt.data.errors import BadExample
from mttt.data.pictures.picture import open_picture
from mttt.data.pictures.source import Item

# Files of these names are pictures, in any case; what is inside may be any of picture.FORMATS.
EXTENSIONS = frozenset((".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"))


class Encoded(ABC):
    """A source that reads bytes somewhere; this opens them."""

    labels: Int32[np.ndarray, " n"]

    @abstractmethod
    def read(self, index: int) -> bytes:
        """The bytes of the image file; OSError or BadExample if that cannot be."""

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
            raise BadExample(name, f"cannot be read: {error.strerror or error}") from error
        return Item(open_picture(io.BytesIO(data), name), label)
