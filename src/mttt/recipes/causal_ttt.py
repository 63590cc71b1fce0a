"""The recipe of the TTT layer that learns while it reads; and the products that have names."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal

from mttt.inner import AnswerThenLearn, Chunks, Optimizer
from mttt.mixers import CausalTTT, MakeMixer
from mttt.recipes.check import positive
from mttt.recipes.inner import (
    AdjointRecipe,
    AffineLearnerRecipe,
    KeyValueRecipe,
    LinearLearnerRecipe,
    MLPLearnerRecipe,
    ParametricRecipe,
    RecomputeRecipe,
    TaskRecipe,
    UndoRecipe,
)
from mttt.recipes.inner_optimizers import FixedRateRecipe, InnerOptimizerRecipe
from mttt.recipes.rates import DecayingRatesRecipe, GatedRatesRecipe, MeanRatesRecipe, PlacedRatesRecipe
from mttt.recipes.ttt import STARTS, Named, check_zeros


@dataclass(frozen=True)
class ChunksRecipe:
    """Learn, then answer: a token's W has learned from it and from all before it."""

    kind: ClassVar[str] = "chunks"

    size: int = 16
    """b, tokens in a chunk; 1 is a step for each token"""

    def __post_init__(self):
        positive(2**24, size=self.size)

    def build(self) -> Chunks:
        return Chunks(self.size)


@dataclass(frozen=True)
class AnswerThenLearnRecipe:
    """The tokens of a chunk answer with the W before it; then it is learned."""

    kind: ClassVar[str] = "answer-then-learn"

    size: int = 1024
    """b, tokens in a chunk"""

    def __post_init__(self):
        positive(2**24, size=self.size)

    def build(self) -> AnswerThenLearn:
        return AnswerThenLearn(self.size)


@dataclass(frozen=True)
class CausalTTTRecipe:
    """TTT that learns while it reads."""

    kind: ClassVar[str] = "causal-ttt"

    learner: ParametricRecipe = field(default_factory=MLPLearnerRecipe)
    """what learns on every input"""
    start: Literal["trained", "frozen", "zeros"] = "trained"
    """W₀: learned by the outer loop, left as it was drawn, or 0"""
    task: TaskRecipe = field(default_factory=KeyValueRecipe)
    """what it learns"""
    optimizer: InnerOptimizerRecipe = field(default_factory=FixedRateRecipe)
    """how the inner loop descends"""
    rates: MeanRatesRecipe | GatedRatesRecipe | DecayingRatesRecipe | PlacedRatesRecipe = field(
        default_factory=PlacedRatesRecipe
    )
    """what each token weighs"""
    chunks: ChunksRecipe | AnswerThenLearnRecipe = field(default_factory=ChunksRecipe)
    """which tokens a step learns from"""
    adjoint: AdjointRecipe | UndoRecipe = field(default_factory=RecomputeRecipe)
    """what the outer backward pass keeps; changes no number"""

    def check(self) -> None:
        """Refuse products without a meaning. Not when they are made: what is changed part by part may pass by one."""
        check_zeros(self.learner, self.start)

    def build(self, tokens: int) -> MakeMixer:
        self.check()
        return partial(
            CausalTTT,
            learner=self.learner.build(),
            start=STARTS[self.start],
            task=self.task.build(),
            optimizer=self.optimizer.build(-(-tokens // self.chunks.size)),
            rates=self.rates.build(self.chunks.size),
            chunks=self.chunks.build(),
            adjoint=self.adjoint.build(),
        )

    def optimizer_at(self, rate: float) -> Optimizer:
        """The optimizer of the inner loop with another, fixed η, for a model that is trained."""
        return self.optimizer.at_rate(rate).build(1)


_DELTA = KeyValueRecipe(norm=False, residual=False, unit=True, output_norm=True)
# W₀ as the authors of TTT-Linear and TTT-MLP draw it: small, so that what the first tokens teach is heard beside it.
# Their steps are undone: that keeps two vectors a token and map, and reads no chunk a second time.
TTT_MLP = CausalTTTRecipe(learner=MLPLearnerRecipe(spread=0.02), adjoint=UndoRecipe())
TTT_LINEAR = CausalTTTRecipe(learner=AffineLearnerRecipe(spread=0.02), adjoint=UndoRecipe())
DELTA_RULE = CausalTTTRecipe(
    learner=LinearLearnerRecipe(), start="zeros", task=_DELTA, rates=GatedRatesRecipe(), chunks=ChunksRecipe(1)
)
GATED_DELTA_RULE = CausalTTTRecipe(
    learner=LinearLearnerRecipe(), start="zeros", task=_DELTA, rates=DecayingRatesRecipe(), chunks=ChunksRecipe(1)
)

CAUSAL_NAMED: dict[str, Named] = {
    "ttt-mlp": Named(TTT_MLP, "TTT-MLP (Sun et al., 2024): the MLP learner on keys and values, in chunks of 16."),
    "ttt-linear": Named(TTT_LINEAR, "TTT-Linear (Sun et al., 2024): the affine learner, in chunks of 16."),
    "delta-rule": Named(DELTA_RULE, "The delta rule (DeltaNet): the linear learner from W₀ = 0, one step a token."),
    "gated-delta-rule": Named(GATED_DELTA_RULE, "The delta rule with a learned decay of W before each token."),
}
