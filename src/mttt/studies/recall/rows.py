"""The mixers that are compared, and what is around them.

All have d = 64 in two heads of width k = 32, in two blocks without MLPs, with a causal convolution of width 3 before
each: a token sees the key before it, and what is left to the mixer is to remember. The layers have as many heads of
equal width as fill d, so that one head of 32 with d = 64, as in the prototype of this task, is not among them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from jaxtyping import PRNGKeyArray

from mttt.models import Size
from mttt.recipes.causal import (
    CausalEluLinearAttentionRecipe,
    CausalLinearAttentionRecipe,
    CausalMixerRecipe,
    CausalSelfAttentionRecipe,
    SlidingWindowRecipe,
)
from mttt.recipes.causal_ttt import DELTA_RULE, TTT_LINEAR, TTT_MLP, CausalTTTRecipe, ChunksRecipe
from mttt.recipes.inner_optimizers import FixedRateRecipe
from mttt.runs import Record
from mttt.studies.recall.model import Rememberer
from mttt.studies.recall.sequences import Draws, Recall

SIZE = Size(dim=64, depth=2, heads=2)
WINDOW = 32


@dataclass(frozen=True)
class Recaller(ABC):
    """A row: a mixer that has to remember, and how it is asked and trained."""

    name: str
    """what files and `--only` call it"""
    label: str
    mixer: Any
    """its recipe"""
    pairs: tuple[int, ...] | None = None
    """the only numbers of pairs that it is trained with; None: those of the study"""
    probe: tuple[int, ...] = ()
    """judge the trained model with these numbers of inner steps, too"""
    peak: ClassVar[float]
    """rate of Adam"""

    @abstractmethod
    def model(self, pairs: int, *, key: PRNGKeyArray) -> Any:
        """The model for inputs with so many pairs."""

    @abstractmethod
    def draw(self, pairs: int, seed: int) -> Draws:
        """Where its inputs come from."""

    @abstractmethod
    def sizes(self, model: Any, pairs: int) -> Record:
        """What is worth knowing of the model, besides its parameters."""


@dataclass(frozen=True)
class RecallRow(Recaller):
    """A causal mixer that has to remember."""

    mixer: CausalTTTRecipe | CausalMixerRecipe
    peak: ClassVar[float] = 3e-3

    def model(self, pairs: int, *, key: PRNGKeyArray) -> Rememberer:
        return Rememberer(SIZE, self.mixer.build(4 * pairs - 1), key=key)

    def draw(self, pairs: int, seed: int) -> Recall:
        return Recall(pairs, seed)

    def sizes(self, model: Rememberer, pairs: int) -> Record:
        return {"state_bytes": model.state_bytes(4 * pairs)}


TTT_MLP_ROW = RecallRow("ttt-mlp", "TTT-MLP, b = 16", TTT_MLP)
ASCENT = RecallRow("ttt-mlp-ascent", "TTT-MLP, ascent", replace(TTT_MLP, optimizer=FixedRateRecipe(-1.0)))
NO_STEP = RecallRow("ttt-mlp-no-step", "TTT-MLP, no step", replace(TTT_MLP, optimizer=FixedRateRecipe(0.0)))
LINEAR_1 = RecallRow("ttt-linear-1", "TTT-Linear, b = 1", replace(TTT_LINEAR, chunks=ChunksRecipe(1)))
LINEAR_16 = RecallRow("ttt-linear", "TTT-Linear, b = 16", TTT_LINEAR)
DELTA = RecallRow("delta-rule", "delta rule", DELTA_RULE)
# The same layer, but no error is looked at: ℓ = −⟨f(k), v⟩ adds every pair to W, as linear attention does. Its steps do
# not depend on W, so chunks of any size give the same numbers.
HEBB = RecallRow(
    "dot-rule",
    "delta rule's layer, dot-product loss",
    replace(DELTA_RULE, task=replace(DELTA_RULE.task, loss="dot"), chunks=ChunksRecipe(16)),
)
IDENTITY = RecallRow("linear-attention", "linear attention, identity", CausalLinearAttentionRecipe())
ELU = RecallRow("elu-linear-attention", "linear attention, elu + 1", CausalEluLinearAttentionRecipe())
ATTENTION = RecallRow("self-attention", "self-attention", CausalSelfAttentionRecipe())
SLIDING = RecallRow("sliding-window", f"sliding window of {WINDOW}", SlidingWindowRecipe(window=WINDOW))
ROWS = (TTT_MLP_ROW, ASCENT, NO_STEP, LINEAR_16, LINEAR_1, DELTA, HEBB, IDENTITY, ELU, ATTENTION, SLIDING)
