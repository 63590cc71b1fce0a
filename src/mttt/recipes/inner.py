"""Recipes of the inner loop's parts: learners, the task, batchings, adjoints."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import jax

from mttt.inner import (
    AffineLearner,
    DotLoss,
    ExponentialKernel,
    FullBatch,
    GaussianKernel,
    Keep,
    KeyValue,
    LinearLearner,
    MiniBatches,
    MLPLearner,
    NadarayaWatson,
    Recompute,
    Reconstruction,
    SquaredLoss,
    SwiGLULearner,
    Undo,
)
from mttt.mixers.ttt import MakeLearner, MakeTask
from mttt.recipes.check import not_negative, positive

Normalisation = Literal["release", "paper"]
MOST_STEPS = 2**20
"""of an inner loop"""


def divisor(normalisation: Normalisation) -> float | None:
    """What the inner loss is divided by besides n; None is the width of a head."""
    return None if normalisation == "release" else 1.0


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    """A learner whose W₀ is drawn."""

    spread: float | None = None
    """standard deviation of the kernels of W₀ when they are drawn, of a normal distribution; Xavier's if not given"""

    def __post_init__(self):
        positive(spread=self.spread)

    def drawing(self) -> dict[str, Any]:
        """What a learner is given for it."""
        return {} if self.spread is None else {"kernel_init": jax.nn.initializers.normal(self.spread)}


@dataclass(frozen=True)
class LinearLearnerRecipe(_Drawn):
    """f(x; W) = Wx."""

    kind: ClassVar[str] = "linear"

    def build(self) -> MakeLearner:
        return partial(LinearLearner, **self.drawing())


@dataclass(frozen=True)
class MLPLearnerRecipe(_Drawn):
    """A neural network with one hidden layer."""

    kind: ClassVar[str] = "mlp"

    factor: int = 4
    """width of the hidden layer, in widths of a head"""

    def __post_init__(self):
        super().__post_init__()
        positive(2**10, factor=self.factor)

    def build(self) -> MakeLearner:
        return partial(MLPLearner, factor=self.factor, **self.drawing())


@dataclass(frozen=True)
class AffineLearnerRecipe(_Drawn):
    """f(x; W, b) = Wx + b."""

    kind: ClassVar[str] = "affine"

    def build(self) -> MakeLearner:
        return partial(AffineLearner, **self.drawing())


@dataclass(frozen=True)
class SwiGLULearnerRecipe(_Drawn):
    """A gated neural network without biases."""

    kind: ClassVar[str] = "swiglu"

    factor: int = 2
    """width of the hidden layer, in widths of a head"""

    def __post_init__(self):
        super().__post_init__()
        positive(2**10, factor=self.factor)

    def build(self) -> MakeLearner:
        return partial(SwiGLULearner, factor=self.factor, **self.drawing())


@dataclass(frozen=True)
class NadarayaWatsonRecipe:
    """The Nadaraya–Watson estimator, which learns by heart. With the exponential kernel it is self-attention."""

    kind: ClassVar[str] = "nadaraya-watson"

    kernel: Literal["exponential", "gaussian"] = "gaussian"
    """exponential is asymmetric in its arguments through φ and ψ; gaussian is symmetric"""

    def build(self) -> MakeLearner:
        kernel = ExponentialKernel() if self.kernel == "exponential" else GaussianKernel()
        return partial(NadarayaWatson, kernel=kernel)


@dataclass(frozen=True)
class ReconstructionRecipe:
    """Reconstruct the token from its view φ."""

    kind: ClassVar[str] = "reconstruction"
    implied: ClassVar[bool] = True  # by recipes that were written before there was another task

    decoder_norm: bool = True
    """Decoder LN: normalise the reconstruction"""
    normalisation: Normalisation = "release"
    """inner loss divided by n·d/H as in the paper's release, or by n as in its eq. 1"""

    def build(self) -> MakeTask:
        return partial(Reconstruction, decoder_norm=self.decoder_norm, divisor=divisor(self.normalisation))


@dataclass(frozen=True)
class KeyValueRecipe:
    """Answer the token's key with its value."""

    kind: ClassVar[str] = "key-value"

    loss: Literal["squared", "dot"] = "squared"
    """half the squared error, or minus the dot product"""
    norm: bool = True
    """normalise the answers, in the task and in the layer's output"""
    residual: bool = True
    """learn value − key, and add the query to the layer's output"""
    unit: bool = False
    """keys and queries of norm 1"""
    output_norm: bool = False
    """normalise what leaves the heads, and nothing in the task"""

    def build(self) -> MakeTask:
        loss = SquaredLoss() if self.loss == "squared" else DotLoss()
        parts = {"norm": self.norm, "residual": self.residual, "unit": self.unit, "output_norm": self.output_norm}
        return partial(KeyValue, loss=loss, **parts)


@dataclass(frozen=True)
class FullBatchRecipe:
    """Every step sees all tokens."""

    kind: ClassVar[str] = "full"

    steps: int = 1
    """T, the number of inner steps; 0 is no learning at test time"""

    def __post_init__(self):
        not_negative(MOST_STEPS, steps=self.steps)

    def build(self) -> FullBatch:
        return FullBatch(self.steps)


@dataclass(frozen=True)
class MiniBatchesRecipe:
    """A random split into T mini-batches, one step each."""

    kind: ClassVar[str] = "mini"

    steps: int = 4
    """T, the number of mini-batches and so of inner steps; 0 is no learning at test time"""

    def __post_init__(self):
        not_negative(MOST_STEPS, steps=self.steps)

    def build(self) -> MiniBatches:
        return MiniBatches(self.steps)


@dataclass(frozen=True)
class RecomputeRecipe:
    """What is wider than a token is made again in the outer backward pass, a few tokens at a time."""

    kind: ClassVar[str] = "recompute"

    block: int | None = None
    """tokens at a time, at most; fewer take less memory, for the same numbers; by default 32√n / factor"""

    def __post_init__(self):
        positive(block=self.block)

    def build(self) -> Recompute:
        return Recompute(self.block)


@dataclass(frozen=True)
class KeepRecipe:
    """Everything is kept for the outer backward pass: more memory."""

    kind: ClassVar[str] = "keep"

    def build(self) -> Keep:
        return Keep()


@dataclass(frozen=True)
class UndoRecipe:
    """The outer backward pass undoes the steps of a sequence: memory for one W. For chunks smaller than a head."""

    kind: ClassVar[str] = "undo"

    def build(self) -> Undo:
        return Undo()


ParametricRecipe = MLPLearnerRecipe | LinearLearnerRecipe | AffineLearnerRecipe | SwiGLULearnerRecipe
LearnerRecipe = ParametricRecipe | NadarayaWatsonRecipe
TaskRecipe = ReconstructionRecipe | KeyValueRecipe
BatchingRecipe = FullBatchRecipe | MiniBatchesRecipe
AdjointRecipe = RecomputeRecipe | KeepRecipe
