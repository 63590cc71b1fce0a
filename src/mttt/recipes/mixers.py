"""Recipes of mixers: the rows of the paper's tables, and what else the parts can be put together to.

`build` gets the number of tokens, for mixers that are made for one number of them.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from mttt.fields import FieldError
from mttt.mixers import SOFT, EluLinearAttention, Hyena, LinearAttention, Linformer, Longformer, SelfAttention
from mttt.models import MakeMixer
from mttt.recipes.check import not_negative, positive
from mttt.recipes.inner import Normalisation, divisor
from mttt.recipes.ttt import TTTRecipe


@dataclass(frozen=True)
class SelfAttentionRecipe:
    """Self-attention."""

    kind: ClassVar[str] = "self-attention"

    def build(self, tokens: int) -> MakeMixer:
        return SelfAttention


@dataclass(frozen=True)
class LinearAttentionRecipe:
    """Linear attention with identity map."""

    kind: ClassVar[str] = "linear-attention"

    normalisation: Normalisation = "release"
    """divide by n·d/H as in the paper's release, or by n as in its appendix A"""

    def build(self, tokens: int) -> MakeMixer:
        return partial(LinearAttention, divisor=divisor(self.normalisation))


@dataclass(frozen=True)
class EluLinearAttentionRecipe:
    """Linear attention of Katharopoulos et al.: features elu + 1, data-dependent normaliser."""

    kind: ClassVar[str] = "elu-linear-attention"

    def build(self, tokens: int) -> MakeMixer:
        return EluLinearAttention


@dataclass(frozen=True)
class LinformerRecipe:
    """Linformer (Wang et al.): attention to r learned mixtures of the tokens, for one number of tokens."""

    kind: ClassVar[str] = "linformer"

    rank: int = 256
    """r; n, where there are fewer tokens"""

    def __post_init__(self):
        positive(2**20, rank=self.rank)

    def build(self, tokens: int) -> MakeMixer:
        return partial(Linformer, tokens=tokens, rank=self.rank)


@dataclass(frozen=True)
class LongformerRecipe:
    """Longformer (Beltagy et al.): attention in a sliding window, and to a few tokens that all see."""

    kind: ClassVar[str] = "longformer"

    window: int = 512
    """tokens in the window: half of them before a token, half after it"""
    global_tokens: int = 0
    """how many tokens, from the first, see all and are seen by all"""

    def __post_init__(self):
        not_negative(2**20, global_tokens=self.global_tokens)
        positive(2**24, window=self.window)
        if self.window % 2:
            raise FieldError("window", self.window, "must be an even number above 0")

    def build(self, tokens: int) -> MakeMixer:
        return partial(Longformer, window=self.window, global_tokens=self.global_tokens)


@dataclass(frozen=True)
class SOFTRecipe:
    """SOFT (Lu et al.): a Gaussian kernel in the place of softmax, approximated through landmarks."""

    kind: ClassVar[str] = "soft"

    landmarks: int = 49
    """m, the means of so many segments of the tokens; n, where there are fewer tokens"""
    iterations: int = 20
    """steps of Newton and Raphson to the pseudo-inverse"""

    def __post_init__(self):
        positive(2**16, landmarks=self.landmarks, iterations=self.iterations)

    def build(self, tokens: int) -> MakeMixer:
        return partial(SOFT, landmarks=self.landmarks, iterations=self.iterations)


@dataclass(frozen=True)
class HyenaRecipe:
    """Hyena (Poli et al.): long convolutions, with filters that a small network makes, and gates. It has no heads."""

    kind: ClassVar[str] = "hyena"

    order: int = 2
    """how many times to convolve and gate"""
    width: int = 64
    """hidden width of the network that makes the filters"""
    bands: int = 16
    """frequencies of the sines and cosines of the distance which that network sees"""

    def __post_init__(self):
        positive(2**6, order=self.order)
        positive(2**16, width=self.width, bands=self.bands)

    def build(self, tokens: int) -> MakeMixer:
        return partial(Hyena, order=self.order, width=self.width, bands=self.bands)


MixerRecipe = (
    TTTRecipe
    | SelfAttentionRecipe
    | LinearAttentionRecipe
    | EluLinearAttentionRecipe
    | LinformerRecipe
    | LongformerRecipe
    | SOFTRecipe
    | HyenaRecipe
)
