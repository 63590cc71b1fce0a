"""What a kind of data is for: how a model reads it, and what it is to do with it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import jax.numpy as jnp

from mttt.data import DataSet
from mttt.data.pictures import to_float
from mttt.fields import FieldError
from mttt.outer import Classification, Mixup, NextToken, Objective

Read = Callable[[Any], Any]
"""inputs as they are stored, of one example or of a batch, to what the model computes with"""


class Purposeful(ABC):
    """A recipe of data that says what they are for. The kinds of data are below, and no others are asked for."""

    kind: ClassVar[str]
    model_kind: ClassVar[str]
    """of the models that can be trained on them"""

    @abstractmethod
    def load(self) -> DataSet:
        """The data themselves."""

    @abstractmethod
    def read(self, dtype: str) -> Read:
        """How a model that computes in this dtype gets them."""

    @abstractmethod
    def objective(self, read: Read, *, mixup: float) -> Objective:
        """What a model is to do with them."""


class PictureData(Purposeful):
    """Pictures, to be classified."""

    model_kind: ClassVar[str] = "vit"

    def read(self, dtype: str) -> Read:
        return partial(to_float, dtype=jnp.dtype(dtype))

    def objective(self, read: Read, *, mixup: float) -> Objective:
        plain = Classification(read)
        return Mixup(plain, mixup) if mixup else plain


class TextData(Purposeful):
    """Texts, whose next byte is to be predicted."""

    model_kind: ClassVar[str] = "lm"

    context: int
    """how many bytes a model sees at a time"""
    holdout: float
    """which part is not trained on"""

    def read(self, dtype: str) -> Read:
        return _all_but_the_last  # bytes are looked up, so the dtype is the model's affair

    def objective(self, read: Read, *, mixup: float) -> Objective:
        if mixup:
            raise FieldError("mixup", mixup, "mixes pictures and their classes, and these data are a text; take 0")
        return NextToken(read)


def _all_but_the_last(windows: Any) -> Any:
    return jnp.asarray(windows)[..., :-1]
