"""Where pictures come from."""

from typing import NamedTuple, TypeAlias

from PIL import Image

from mttt.data.source import Source


class Item(NamedTuple):
    """One labelled image, opened but not decoded."""

    image: Image.Image
    label: int


PictureSource: TypeAlias = Source[Item]
