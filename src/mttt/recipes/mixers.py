"""Recipes of mixers: the rows of the paper's tables, and what else the parts can be put together to.

`build` gets the number of tokens, for mixers that are made for one number of them.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from mttt.inner import (
    Batching,
    ExponentialKernel,
    Frozen,
    FullBatch,
    GaussianKernel,
    LinearLearner,
    Memory,
    MiniBatches,
    MLPLearner,
    NadarayaWatson,
    Recompute,
    Reconstruction,
    Trained,
    Zeros,
)
from mttt.mixers import SOFT, TTT, EluLinearAttention, Hyena, LinearAttention, Linformer, Longformer, SelfAttention
from mttt.mixers.ttt import MakeLearner, MakeStart
from mttt.models import MakeMixer
from mttt.recipes.check import not_negative, positive
from mttt.recipes.inner import FixedRate, InnerOptimizer

Normalisation = Literal["release", "paper"]


def _divisor(normalisation: Normalisation) -> float | None:
    """What the inner loss is divided by besides n; None is the width of a head."""
    return None if normalisation == "release" else 1.0


def _batching(kind: Literal["full", "mini"], steps: int) -> Batching:
    return FullBatch(steps) if kind == "full" else MiniBatches(steps)


@dataclass(frozen=True)
class MTTTLinear:
    """MTTT-Linear: a linear learner from W₀ = 0, no Decoder LN. With T = 1 it is linear attention."""

    steps: int = 1
    """T, the number of inner steps; 0 is no learning at test time"""
    batching: Literal["full", "mini"] = "full"
    """full: every step sees all tokens; mini: a random split into T mini-batches, one step each"""
    optimizer: InnerOptimizer = field(default_factory=FixedRate)
    """how the inner loop descends"""
    train_initial: bool = False
    """learn W₀ in the outer loop instead of W₀ = 0"""
    decoder_norm: bool = False
    """Decoder LN: normalise the reconstruction"""
    normalisation: Normalisation = "release"
    """inner loss divided by n·d/H as in the paper's release, or by n as in its eq. 1"""

    def __post_init__(self):
        _batching(self.batching, self.steps)

    def build(self, tokens: int) -> MakeMixer:
        return _ttt(self, LinearLearner, Trained if self.train_initial else Zeros)


@dataclass(frozen=True)
class MTTTMLP:
    """MTTT-MLP: the learner is a neural network with one hidden layer."""

    steps: int = 1
    """T, the number of inner steps; 0 is no learning at test time"""
    batching: Literal["full", "mini"] = "full"
    """full: every step sees all tokens; mini: a random split into T mini-batches, one step each"""
    optimizer: InnerOptimizer = field(default_factory=FixedRate)
    """how the inner loop descends"""
    train_initial: bool = True
    """learn W₀ in the outer loop; otherwise it stays as it was drawn"""
    decoder_norm: bool = True
    """Decoder LN: normalise the reconstruction"""
    factor: int = 4
    """width of the hidden layer, in widths of a head"""
    normalisation: Normalisation = "release"
    """inner loss divided by n·d/H as in the paper's release, or by n as in its eq. 1"""
    block: int | None = None
    """tokens at a time, at most; fewer take less memory, for the same numbers; by default 32√n / factor"""

    def __post_init__(self):
        positive(factor=self.factor)
        if self.block is not None:
            positive(block=self.block)
        _batching(self.batching, self.steps)

    def build(self, tokens: int) -> MakeMixer:
        learner = partial(MLPLearner, factor=self.factor)
        return _ttt(self, learner, Trained if self.train_initial else Frozen, block=self.block)


def _ttt(
    recipe: MTTTLinear | MTTTMLP, learner: MakeLearner, start: MakeStart, *, block: int | None = None
) -> MakeMixer:
    return partial(
        TTT,
        learner=learner,
        start=start,
        task=partial(Reconstruction, decoder_norm=recipe.decoder_norm, divisor=_divisor(recipe.normalisation)),
        optimizer=recipe.optimizer.build(recipe.steps),
        batching=_batching(recipe.batching, recipe.steps),
        adjoint=Recompute(block),
    )


@dataclass(frozen=True)
class Kernel:
    """TTT with the Nadaraya–Watson estimator. With the exponential kernel it is self-attention."""

    kernel: Literal["exponential", "gaussian"] = "gaussian"
    """exponential is asymmetric in its arguments through φ and ψ; gaussian is symmetric"""

    def build(self, tokens: int) -> MakeMixer:
        kernel = ExponentialKernel() if self.kernel == "exponential" else GaussianKernel()
        return partial(
            TTT,
            learner=partial(NadarayaWatson, kernel=kernel),
            start=Memory,
            task=partial(Reconstruction, decoder_norm=False),
        )


@dataclass(frozen=True)
class Attention:
    """Self-attention."""

    def build(self, tokens: int) -> MakeMixer:
        return SelfAttention


@dataclass(frozen=True)
class IdentityLinearAttention:
    """Linear attention with identity map."""

    normalisation: Normalisation = "release"
    """divide by n·d/H as in the paper's release, or by n as in its appendix A"""

    def build(self, tokens: int) -> MakeMixer:
        return partial(LinearAttention, divisor=_divisor(self.normalisation))


@dataclass(frozen=True)
class EluAttention:
    """Linear attention of Katharopoulos et al.: features elu + 1, data-dependent normaliser."""

    def build(self, tokens: int) -> MakeMixer:
        return EluLinearAttention


@dataclass(frozen=True)
class LinformerAttention:
    """Linformer (Wang et al.): attention to r learned mixtures of the tokens, for one number of tokens."""

    rank: int = 256
    """r; n, where there are fewer tokens"""

    def __post_init__(self):
        positive(rank=self.rank)

    def build(self, tokens: int) -> MakeMixer:
        return partial(Linformer, tokens=tokens, rank=self.rank)


@dataclass(frozen=True)
class LongformerAttention:
    """Longformer (Beltagy et al.): attention in a sliding window, and to a few tokens that all see."""

    window: int = 512
    """tokens in the window: half of them before a token, half after it"""
    global_tokens: int = 0
    """how many tokens, from the first, see all and are seen by all"""

    def __post_init__(self):
        not_negative(global_tokens=self.global_tokens)
        if self.window < 2 or self.window % 2:
            raise ValueError(f"window={self.window}: must be an even number above 0")

    def build(self, tokens: int) -> MakeMixer:
        return partial(Longformer, window=self.window, global_tokens=self.global_tokens)


@dataclass(frozen=True)
class SoftmaxFree:
    """SOFT (Lu et al.): a Gaussian kernel in the place of softmax, approximated through landmarks."""

    landmarks: int = 49
    """m, the means of so many segments of the tokens; n, where there are fewer tokens"""
    iterations: int = 20
    """steps of Newton and Raphson to the pseudo-inverse"""

    def __post_init__(self):
        positive(landmarks=self.landmarks, iterations=self.iterations)

    def build(self, tokens: int) -> MakeMixer:
        return partial(SOFT, landmarks=self.landmarks, iterations=self.iterations)


@dataclass(frozen=True)
class HyenaOperator:
    """Hyena (Poli et al.): long convolutions, with filters that a small network makes, and gates. It has no heads."""

    order: int = 2
    """how many times to convolve and gate"""
    width: int = 64
    """hidden width of the network that makes the filters"""
    bands: int = 16
    """frequencies of the sines and cosines of the distance which that network sees"""

    def __post_init__(self):
        positive(order=self.order, width=self.width, bands=self.bands)

    def build(self, tokens: int) -> MakeMixer:
        return partial(Hyena, order=self.order, width=self.width, bands=self.bands)


Mixer = (
    MTTTMLP
    | MTTTLinear
    | Kernel
    | Attention
    | IdentityLinearAttention
    | EluAttention
    | LinformerAttention
    | LongformerAttention
    | SoftmaxFree
    | HyenaOperator
)

MIXERS: dict[str, type] = {
    "mttt-mlp": MTTTMLP,
    "mttt-linear": MTTTLinear,
    "kernel": Kernel,
    "self-attention": Attention,
    "linear-attention": IdentityLinearAttention,
    "elu-linear-attention": EluAttention,
    "linformer": LinformerAttention,
    "longformer": LongformerAttention,
    "soft": SoftmaxFree,
    "hyena": HyenaOperator,
}
