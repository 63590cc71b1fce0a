"""One picture from a file, as a model wants it."""

from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageOps, UnidentifiedImageError


def load_picture(path: Path, shape: tuple[int, int, int], *, invert: bool = False) -> UInt8[np.ndarray, "h w c"]:
    """The picture upright, in gray or RGB, its middle cropped to the aspect of `shape` and scaled to its size."""
    height, width, channels = shape
    try:
        with Image.open(path) as image:
            upright = ImageOps.exif_transpose(image).convert("L" if channels == 1 else "RGB")
    except FileNotFoundError as error:
        raise ValueError(f"{path} does not exist") from error
    except IsADirectoryError as error:
        raise ValueError(f"{path} is a directory; give the images in it: {path}/*") from error
    except UnidentifiedImageError as error:
        raise ValueError(f"{path} is not an image that can be read") from error
    except (OSError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    fitted = ImageOps.fit(upright, (width, height), method=Image.Resampling.BICUBIC)
    array = np.asarray(ImageOps.invert(fitted) if invert else fitted)
    return array.reshape(height, width, channels)
