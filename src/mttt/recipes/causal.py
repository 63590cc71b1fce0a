"""Recipes of mixers that read from left to right, for sequences.

`build` gets the number of tokens, as that of other mixers; filters of Hyena that are to reach all of them use it.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from mttt.fields import FieldError
from mttt.mixers import (
    CausalEluLinearAttention,
    CausalHyena,
    CausalLinearAttention,
    CausalSelfAttention,
    Rotary,
    SlidingWindow,
)
from mttt.models import MakeMixer
from mttt.recipes.check import not_negative, positive
from mttt.recipes.inner import Normalisation, divisor


def positions(base: float) -> Rotary | None:
    """Rotary positions with this base; none, if it is 0."""
    return Rotary(base) if base else None


@dataclass(frozen=True)
class CausalSelfAttentionRecipe:
    """Self-attention of each token to itself and to all before it."""

    kind: ClassVar[str] = "causal-attention"

    rotary: float = 10_000.0
    """base of the rotary positions; 0 for none"""

    def __post_init__(self):
        not_negative(rotary=self.rotary)

    def build(self, tokens: int) -> MakeMixer:
        return partial(CausalSelfAttention, positions=positions(self.rotary))


@dataclass(frozen=True)
class SlidingWindowRecipe:
    """Self-attention of each token to the last few, with a state of a fixed size."""

    kind: ClassVar[str] = "sliding-window"

    window: int = 64
    """tokens that a token sees, itself among them"""
    rotary: float = 10_000.0
    """base of the rotary positions; 0 for none"""

    def __post_init__(self):
        positive(2**20, window=self.window)
        if self.window < 2:
            raise FieldError("window", self.window, "must be 2 or more: a token would see only itself")
        not_negative(rotary=self.rotary)

    def build(self, tokens: int) -> MakeMixer:
        return partial(SlidingWindow, window=self.window, positions=positions(self.rotary))


@dataclass(frozen=True)
class CausalLinearAttentionRecipe:
    """Linear attention with identity map to all tokens so far, divided by their number."""

    kind: ClassVar[str] = "causal-linear-attention"

    chunk: int = 64
    """tokens that are multiplied at a time; changes no number"""
    normalisation: Normalisation = "release"
    """divide by t·d/H, where t is the number of tokens so far, or by t"""

    def __post_init__(self):
        positive(2**20, chunk=self.chunk)

    def build(self, tokens: int) -> MakeMixer:
        return partial(CausalLinearAttention, chunk=self.chunk, divisor=divisor(self.normalisation))


@dataclass(frozen=True)
class CausalEluLinearAttentionRecipe:
    """Linear attention of Katharopoulos et al. to all tokens so far: features elu + 1, data-dependent normaliser."""

    kind: ClassVar[str] = "causal-elu-linear-attention"

    chunk: int = 64
    """tokens that are multiplied at a time; changes no number"""

    def __post_init__(self):
        positive(2**20, chunk=self.chunk)

    def build(self, tokens: int) -> MakeMixer:
        return partial(CausalEluLinearAttention, chunk=self.chunk)


@dataclass(frozen=True)
class CausalHyenaRecipe:
    """Hyena (Poli et al.) as that paper has it, for sequences: long convolutions and gates. It has no heads."""

    kind: ClassVar[str] = "causal-hyena"

    order: int = 2
    """how many times to convolve and gate"""
    width: int = 64
    """hidden width of the network that makes the filters"""
    bands: int = 16
    """frequencies of the sines and cosines of the distance which that network sees"""
    context: int | None = None
    """tokens that the filters reach back; as many as the model is trained on, if not given"""

    def __post_init__(self):
        positive(2**6, order=self.order)
        positive(2**16, width=self.width, bands=self.bands)
        positive(2**20, context=self.context)
        if self.context == 1:
            raise FieldError("context", self.context, "must be 2 or more: a token would see only itself")

    def build(self, tokens: int) -> MakeMixer:
        context = max(tokens, 2) if self.context is None else self.context
        return partial(CausalHyena, context=context, order=self.order, width=self.width, bands=self.bands)


CausalMixerRecipe = (
    CausalSelfAttentionRecipe
    | SlidingWindowRecipe
    | CausalLinearAttentionRecipe
    | CausalEluLinearAttentionRecipe
    | CausalHyenaRecipe
)
