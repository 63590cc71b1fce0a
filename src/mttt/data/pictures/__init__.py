"""Pictures: files and archives of them, what is done to them on the way to a model, and looking at them."""

from mttt.data.pictures.arrays import Arrays as Arrays
from mttt.data.pictures.cifar import load_cifar as load_cifar
from mttt.data.pictures.detect import detect as detect, find_data as find_data, open_data as open_data
from mttt.data.pictures.digits import load_digits as load_digits
from mttt.data.pictures.folder import load_folder as load_folder
from mttt.data.pictures.idx import find_fashion_mnist as find_fashion_mnist, load_idx as load_idx
from mttt.data.pictures.pairs import load_pairs as load_pairs
from mttt.data.pictures.parquet import load_parquet as load_parquet
from mttt.data.pictures.picture import open_picture as open_picture
from mttt.data.pictures.source import Item as Item, PictureSource as PictureSource
from mttt.data.pictures.splits import Splits as Splits, split_training as split_training
from mttt.data.pictures.tar import load_tar as load_tar
from mttt.data.pictures.view import (
    PictureView as PictureView,
    fitted as fitted,
    load_picture as load_picture,
    to_float as to_float,
)
