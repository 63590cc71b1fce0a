"""Pictures as a model sees them: arrays of one shape."""

from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped, UInt8
from PIL import Image

from mttt.data.batch import ArrayLike
from mttt.data.errors import BadExample
from mttt.data.pictures.augment import Ink, Transform, apply
from mttt.data.pictures.picture import open_picture, read_picture
from mttt.data.pictures.source import PictureSource
from mttt.data.view import Example, OnError, generator


@dataclass(frozen=True)
class PictureView:
    """A source, the transforms that every image of it goes through, and what to do with one that cannot be used."""

    source: PictureSource
    transforms: tuple[Transform, ...]
    shape: tuple[int, int, int]
    on_error: OnError = "stop"

    @property
    def inputs(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, np.uint8)

    def __len__(self) -> int:
        return len(self.source)

    def example(self, index: int, rng: np.random.Generator) -> Example | BadExample:
        """The image, transformed; or what is wrong with it."""
        try:
            item = self.source[index]
            image = apply(self.transforms, item.image, rng, shape=self.shape, name=self.source.name(index))
            return Example(image, item.label)
        except BadExample as bad:
            return bad
        except MemoryError:
            return BadExample(self.source.name(index), "takes more memory than there is")


def load_picture(
    path: Path, transforms: tuple[Transform, ...], shape: tuple[int, int, int], *, invert: bool = False
) -> UInt8[np.ndarray, "h w c"]:
    """One file, as a model wants it; `invert` is for dark ink on light paper (`Ink`)."""
    name = str(path)
    return fitted(open_picture(read_picture(path, name), name), name, transforms, shape, invert=invert)


def fitted(
    image: Image.Image,
    name: str,
    transforms: tuple[Transform, ...],
    shape: tuple[int, int, int],
    *,
    invert: bool = False,
) -> UInt8[np.ndarray, "h w c"]:
    """A picture that was opened, as a model wants it; what cannot be used is a BadExample of this name."""
    transforms = (Ink(), *transforms) if invert else transforms
    return apply(transforms, image, generator(0), shape=shape, name=name)


def to_float(images: Shaped[ArrayLike, "*b h w c"], dtype: jnp.dtype | type = jnp.float32) -> Array:
    """Pixel values 0…255 to [−1, 1], on the device."""
    return (jnp.asarray(images).astype(jnp.float32) / 127.5 - 1).astype(dtype)
