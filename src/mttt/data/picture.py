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
            upright = _eight_bit(ImageOps.exif_transpose(image)).convert("L" if channels == 1 else "RGB")
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


def _eight_bit(image: Image.Image) -> Image.Image:
    """Sixteen bits scaled to eight (Pillow would clip), and transparency laid on white paper (Pillow would drop it)."""
    if image.mode.startswith("I"):
        return Image.fromarray((np.asarray(image).astype(np.int64) // 257).clip(0, 255).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image
