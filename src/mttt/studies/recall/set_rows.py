"""The mixers that are compared on sets, and the four parts by which one TTT layer differs from the paper's.

All have d = 64 in two heads, in two blocks like those of the paper's ViT.
"""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import PRNGKeyArray

from mttt.models import Size
from mttt.recipes import ttt
from mttt.recipes.inner import KeyValueRecipe
from mttt.recipes.mixers import EluLinearAttentionRecipe, LinearAttentionRecipe, MixerRecipe, SelfAttentionRecipe
from mttt.recipes.rates import GatedRatesRecipe, MeanRatesRecipe
from mttt.recipes.ttt import TTTRecipe
from mttt.runs import Record
from mttt.studies.recall.model import SetRememberer
from mttt.studies.recall.rows import Recaller
from mttt.studies.recall.sets import SetRecall

SIZE = Size(dim=64, depth=2, heads=2)


@dataclass(frozen=True)
class SetRow(Recaller):
    """A mixer of sets that has to remember."""

    mixer: MixerRecipe
    peak: ClassVar[float] = 2e-3

    def model(self, pairs: int, *, key: PRNGKeyArray) -> SetRememberer:
        questions = self.draw(pairs, 0).questions
        return SetRememberer(SIZE, self.mixer.build(pairs + questions), questions, key=key)

    def draw(self, pairs: int, seed: int) -> SetRecall:
        return SetRecall(pairs, seed)

    def sizes(self, model: SetRememberer, pairs: int) -> Record:
        return {}


def key_value(*, unit: bool, residual: bool, gate: bool) -> TTTRecipe:
    """MTTT-MLP with values for targets, and with or without the three other parts."""
    rates = GatedRatesRecipe() if gate else MeanRatesRecipe()
    return TTTRecipe(task=KeyValueRecipe(unit=unit, norm=residual, residual=residual), rates=rates)


def _ablated() -> list[SetRow]:
    rows = []
    for unit in (False, True):
        for residual in (False, True):
            for gate in (False, True):
                parts = [name for name, on in (("unit", unit), ("residual", residual), ("gate", gate)) if on]
                name = "-".join(["key-value", *parts])
                label = ", ".join(["MTTT-MLP, values", *parts])
                rows.append(SetRow(name, label, key_value(unit=unit, residual=residual, gate=gate)))
    return rows


ATTENTION = SetRow("self-attention", "self-attention", SelfAttentionRecipe())
IDENTITY = SetRow("linear-attention", "linear attention, identity", LinearAttentionRecipe())
ELU = SetRow("elu-linear-attention", "linear attention, elu + 1", EluLinearAttentionRecipe())
MTTT_LINEAR = SetRow("mttt-linear", "MTTT-Linear", ttt.MTTT_LINEAR)
MTTT_MLP = SetRow("mttt-mlp", "MTTT-MLP", ttt.MTTT_MLP)
GATED = SetRow("mttt-mlp-gate", "MTTT-MLP, gate", TTTRecipe(rates=GatedRatesRecipe()))
SGD = SetRow("mttt-mlp-sgd4", "MTTT-MLP SGD T=4", ttt.MTTT_MLP_SGD4)
ABLATED = tuple(_ablated())
SET_ROWS = (ATTENTION, IDENTITY, ELU, MTTT_LINEAR, MTTT_MLP, GATED, SGD, *ABLATED)
