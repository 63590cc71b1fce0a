"""The recipe of the TTT layer, a product of parts; and the products that have names."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

from mttt.fields import FieldError
from mttt.inner import Frozen, Memory, Optimizer, Trained, Zeros
from mttt.mixers import TTT
from mttt.mixers.ttt import MakeStart
from mttt.models import MakeMixer
from mttt.recipes.inner import (
    AdjointRecipe,
    BatchingRecipe,
    FullBatchRecipe,
    LearnerRecipe,
    LinearLearnerRecipe,
    MiniBatchesRecipe,
    MLPLearnerRecipe,
    NadarayaWatsonRecipe,
    RecomputeRecipe,
    ReconstructionRecipe,
    SwiGLULearnerRecipe,
    TaskRecipe,
)
from mttt.recipes.inner_optimizers import FixedRateRecipe, InnerOptimizerRecipe
from mttt.recipes.rates import GatedRatesRecipe, MeanRatesRecipe

STARTS: dict[str, MakeStart] = {"trained": Trained, "frozen": Frozen, "zeros": Zeros, "memory": Memory}


@dataclass(frozen=True)
class TTTRecipe:
    """TTT: an inner loop in the place of attention."""

    kind: ClassVar[str] = "ttt"

    learner: LearnerRecipe = field(default_factory=MLPLearnerRecipe)
    """what learns on every input"""
    start: Literal["trained", "frozen", "zeros", "memory"] = "trained"
    """W₀: learned by the outer loop, left as it was drawn, or 0; memory is for a learner without W"""
    task: TaskRecipe = field(default_factory=ReconstructionRecipe)
    """what it learns"""
    optimizer: InnerOptimizerRecipe = field(default_factory=FixedRateRecipe)
    """how the inner loop descends"""
    rates: MeanRatesRecipe | GatedRatesRecipe = field(default_factory=MeanRatesRecipe)
    """what each token weighs"""
    batching: BatchingRecipe = field(default_factory=FullBatchRecipe)
    """which tokens a step sees"""
    adjoint: AdjointRecipe = field(default_factory=RecomputeRecipe)
    """what the outer backward pass keeps; changes no number"""

    def check(self) -> None:
        """Refuse products without a meaning. Not when they are made: what is changed part by part may pass by one."""
        check_zeros(self.learner, self.start)
        by_heart = isinstance(self.learner, NadarayaWatsonRecipe)
        if by_heart and self.start != "memory":
            raise _refused(
                "start",
                self.start,
                "a learner without weights starts with a memory; choose memory, or the mixer kernel",
            )
        if not by_heart and self.start == "memory":
            raise _refused("start", self.start, f"is for learners without weights; {self.learner.kind} has some")
        if by_heart and not isinstance(self.optimizer, FixedRateRecipe):
            raise _refused("optimizer", self.optimizer.kind, _BY_HEART)
        if by_heart and not isinstance(self.rates, MeanRatesRecipe):
            raise _refused("rates", self.rates.kind, _BY_HEART)
        if by_heart and self.batching != FullBatchRecipe():
            raise _refused("batching", self.batching.kind, _BY_HEART)

    def build(self, tokens: int) -> MakeMixer:
        self.check()
        return partial(
            TTT,
            learner=self.learner.build(),
            start=STARTS[self.start],
            task=self.task.build(),
            optimizer=self.optimizer.build(self.batching.steps),
            rates=None if isinstance(self.rates, MeanRatesRecipe) else self.rates.build(1),
            batching=self.batching.build(),
            adjoint=self.adjoint.build(),
        )

    def optimizer_at(self, rate: float) -> Optimizer:
        """The optimizer of the inner loop with another, fixed η, for a model that is trained."""
        return self.optimizer.at_rate(rate).build(self.batching.steps)


def check_zeros(learner: LearnerRecipe, start: str) -> None:
    """Refuse zeros where nothing would be learned from them."""
    if isinstance(learner, MLPLearnerRecipe | SwiGLULearnerRecipe) and start == "zeros":
        raise _refused("start", start, "a network whose weights are all 0 learns no more than a bias; choose trained")


_BY_HEART = "a learner without weights takes no steps; leave this as it is by default, as the mixer called kernel does"


def _refused(name: str, value: str, reason: str) -> FieldError:
    return FieldError(f"model.mixer.{name}", value, reason)


class Named(NamedTuple):
    """A product that has a name of its own."""

    recipe: Any
    about: str


_PLAIN = ReconstructionRecipe(decoder_norm=False)
MTTT_MLP = TTTRecipe()
MTTT_LINEAR = TTTRecipe(learner=LinearLearnerRecipe(), start="zeros", task=_PLAIN)
KERNEL = TTTRecipe(learner=NadarayaWatsonRecipe(), start="memory", task=_PLAIN)
MTTT_MLP_SGD4 = TTTRecipe(batching=MiniBatchesRecipe(4))

NAMED: dict[str, Named] = {
    "mttt-mlp": Named(MTTT_MLP, "TTT with the MLP learner, Decoder LN, one step: the paper's MTTT-MLP."),
    "mttt-linear": Named(
        MTTT_LINEAR, "TTT with the linear learner from W₀ = 0, no Decoder LN. With T = 1 it is linear attention."
    ),
    "kernel": Named(
        KERNEL, "TTT with the Nadaraya–Watson estimator. With the exponential kernel it is self-attention."
    ),
}
