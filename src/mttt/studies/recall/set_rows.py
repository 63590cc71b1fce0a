"""The mixers that are compared on sets, what their inner loop may do, and four changes of the paper's layer.

All have d = 64 in two heads, in two blocks without MLPs: what is left to the mixer is to remember.
"""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import PRNGKeyArray

from mttt.models import Size
from mttt.recipes import ttt
from mttt.recipes.inner import FullBatchRecipe, KeyValueRecipe
from mttt.recipes.inner_optimizers import FixedRateRecipe, LearnedRateRecipe, RandomDirectionRecipe
from mttt.recipes.mixers import EluLinearAttentionRecipe, LinearAttentionRecipe, MixerRecipe, SelfAttentionRecipe
from mttt.recipes.rates import GatedRatesRecipe, MeanRatesRecipe
from mttt.recipes.ttt import TTTRecipe
from mttt.runs import Record
from mttt.studies.recall.model import SetRememberer
from mttt.studies.recall.rows import Recaller
from mttt.studies.recall.sets import SetRecall

SIZE = Size(dim=64, depth=2, heads=2)
PAIRS = (16, 32, 64)
HARD, MIDDLE = 64, 32
"""pairs that the inner loop's own questions are asked with, and the four changes"""


@dataclass(frozen=True)
class SetRow(Recaller):
    """A mixer of sets that has to remember."""

    mixer: MixerRecipe
    peak: ClassVar[float] = 2e-3

    @property
    def trained_steps(self) -> int:
        """T; 0 where there is no inner loop."""
        return self.mixer.batching.steps if isinstance(self.mixer, TTTRecipe) else 0

    def model(self, pairs: int, *, key: PRNGKeyArray) -> SetRememberer:
        questions = self.draw(pairs, 0).questions
        return SetRememberer(SIZE, self.mixer.build(pairs + questions), questions, key=key)

    def draw(self, pairs: int, seed: int) -> SetRecall:
        return SetRecall(pairs, seed)

    def sizes(self, model: SetRememberer, pairs: int) -> Record:
        return {}


def _hard(name: str, label: str, mixer: TTTRecipe) -> SetRow:
    return SetRow(name, label, mixer, pairs=(HARD,))


def _changed(name: str, label: str, mixer: TTTRecipe) -> SetRow:
    return SetRow(name, label, mixer, pairs=(MIDDLE,))


def key_value(*, unit: bool = True, residual: bool = True, gate: bool = True) -> TTTRecipe:
    """MTTT-MLP with values for targets, and with or without the three other parts."""
    rates = GatedRatesRecipe() if gate else MeanRatesRecipe()
    return TTTRecipe(task=KeyValueRecipe(unit=unit, norm=residual, residual=residual), rates=rates)


ATTENTION = SetRow("self-attention", "self-attention", SelfAttentionRecipe())
IDENTITY = SetRow("linear-attention", "linear attention, identity", LinearAttentionRecipe())
ELU = SetRow("elu-linear-attention", "linear attention, elu + 1", EluLinearAttentionRecipe())
MTTT_LINEAR = SetRow("mttt-linear", "MTTT-Linear", ttt.MTTT_LINEAR)
MTTT_MLP = SetRow("mttt-mlp", "MTTT-MLP", ttt.MTTT_MLP, probe=(0, 1, 2, 4))
SGD = SetRow("mttt-mlp-sgd4", "MTTT-MLP SGD T=4", ttt.MTTT_MLP_SGD4)
ALL_LENGTHS = (ATTENTION, IDENTITY, ELU, MTTT_LINEAR, MTTT_MLP, SGD)

# What learning is here: the gradient's sign, its absence, its direction, its rate.
ASCENT = _hard("mttt-mlp-ascent", "MTTT-MLP, ascent (η = −1)", TTTRecipe(optimizer=FixedRateRecipe(-1.0)))
NO_STEP = _hard("mttt-mlp-no-step", "MTTT-MLP, no step", TTTRecipe(batching=FullBatchRecipe(0)))
RANDOM = _hard("mttt-mlp-random", "MTTT-MLP, random direction", TTTRecipe(optimizer=RandomDirectionRecipe()))
LEARNED = _hard("mttt-mlp-learned-rate", "MTTT-MLP, η learned", TTTRecipe(optimizer=LearnedRateRecipe()))
DIRECTIONS = (ASCENT, NO_STEP, RANDOM, LEARNED)

# From the paper's layer to one with four changes of later work, that without each of them, and single ones.
FULL = _changed("key-value", "all four: values, unit keys, LN(f(x)) + x, gated sum", key_value())
NO_UNIT = _changed("key-value-no-unit", "all without unit keys", key_value(unit=False))
NO_RESIDUAL = _changed("key-value-no-residual", "all without LN(f(x)) + x", key_value(residual=False))
NO_GATE = _changed("key-value-no-gate", "all without the gated sum", key_value(gate=False))
VALUES = _changed("key-value-alone", "values alone", key_value(unit=False, residual=False, gate=False))
GATE = _changed("mttt-mlp-gate", "the gated sum alone", TTTRecipe(rates=GatedRatesRecipe()))
ABLATED = (FULL, NO_UNIT, NO_RESIDUAL, NO_GATE, VALUES, GATE)

SET_ROWS = (*ALL_LENGTHS, *DIRECTIONS, *ABLATED)
