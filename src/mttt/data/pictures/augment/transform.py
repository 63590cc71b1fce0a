"""What a transform is, and how a list of them is run."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from mttt.data.pictures.picture import Unusable, naming
from mttt.data.pictures.upright import in_channels, upright


@runtime_checkable
class Transform(Protocol):
    """A picture in mode L or RGB becomes another. All randomness comes from `rng`.

    A JPEG may come undecoded; anything that looks at its pixels decodes it.
    """

    def __call__(self, image: Image.Image, rng: np.random.Generator) -> Image.Image: ...


def apply(
    transforms: Sequence[Transform],
    image: Image.Image,
    rng: np.random.Generator,
    *,
    shape: tuple[int, int, int],
    name: str,
) -> UInt8[np.ndarray, "h w c"]:
    """The picture upright, through all transforms, in the channels of `shape`; its file is closed.

    The size must be that of `shape` then. A picture that cannot be decoded or does not fit is a `BadExample`.
    """
    height, width, channels = shape
    with naming(name), image:
        image = upright(image)
        for transform in transforms:
            image = transform(image, rng)
        image = in_channels(image, channels)
        if image.size != (width, height):
            raise Unusable(
                f"is {image.width}×{image.height} after its transforms, but the model takes {width}×{height}; "
                "a Resize or a crop is missing"
            )
    return np.asarray(image).reshape(height, width, channels)
