"""Transforms of pictures: what training varies, and what evaluation does to fit a picture to the model."""

from mttt.data.pictures.augment.crop import (
    CentreCrop as CentreCrop,
    InceptionCrop as InceptionCrop,
    RandomCrop as RandomCrop,
)
from mttt.data.pictures.augment.flip import RandomFlip as RandomFlip
from mttt.data.pictures.augment.ink import Ink as Ink
from mttt.data.pictures.augment.operations import OPERATIONS as OPERATIONS
from mttt.data.pictures.augment.randaugment import RandAugment as RandAugment
from mttt.data.pictures.augment.resize import Resize as Resize, ResizeShortSide as ResizeShortSide
from mttt.data.pictures.augment.transform import Transform as Transform, apply as apply
