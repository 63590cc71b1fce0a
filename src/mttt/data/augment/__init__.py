"""Transforms of pictures: what training varies, and what evaluation does to fit a picture to the model."""

from mttt.data.augment.crop import CentreCrop as CentreCrop, InceptionCrop as InceptionCrop, RandomCrop as RandomCrop
from mttt.data.augment.flip import RandomFlip as RandomFlip
from mttt.data.augment.operations import OPERATIONS as OPERATIONS
from mttt.data.augment.randaugment import RandAugment as RandAugment
from mttt.data.augment.resize import Resize as Resize, ResizeShortSide as ResizeShortSide
from mttt.data.augment.transform import Transform as Transform, apply as apply
