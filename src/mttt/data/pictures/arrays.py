"""Images of one shape that are held in memory."""

import numpy as np
from jaxtyping import Int32, Int64, UInt8
from PIL import Image

from mttt.data.pictures.source import Item


class Arrays:
    """A source of arrays. `files` are where they came from, each with equally many, for names."""

    def __init__(
        self, images: UInt8[np.ndarray, "n h w c"], labels: Int32[np.ndarray, " n"], files: tuple[str, ...] = ()
    ):
        self.images, self.labels, self.files = images, labels, files

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Item:
        image = self.images[index]
        return Item(Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image), int(self.labels[index]))

    def name(self, index: int) -> str:
        if not self.files:
            return f"image {index}"
        file, row = divmod(index, len(self) // len(self.files))
        return f"{self.files[file]} image {row}"

    def read(self, index: int) -> bytes:
        """The pixels as bytes."""
        return self.images[index].tobytes()

    def sizes(self) -> Int64[np.ndarray, " n"]:
        """How many bytes each image has."""
        return np.full(len(self), self.images[0].nbytes if len(self) else 0, np.int64)
