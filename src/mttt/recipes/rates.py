"""Recipes of the rates of tokens."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from mttt.inner import DecayingRates, GatedRates, MeanRates, PlacedRates
from mttt.mixers.ttt import MakeRates
from mttt.recipes.check import positive


@dataclass(frozen=True)
class MeanRatesRecipe:
    """Every token weighs the same; the gradient is the mean over the chunk so far."""

    kind: ClassVar[str] = "mean"

    def build(self, size: int) -> MakeRates:
        return MeanRates


@dataclass(frozen=True)
class GatedRatesRecipe:
    """A learned gate says how much each token weighs; the gradient is the sum over the chunk so far."""

    kind: ClassVar[str] = "gated"

    scale: float = 1.0
    """the most that a token can weigh"""

    def __post_init__(self):
        positive(scale=self.scale)

    def build(self, size: int) -> MakeRates:
        return partial(GatedRates, scale=self.scale)


@dataclass(frozen=True)
class DecayingRatesRecipe:
    """As gated, and a second gate says how much of W is forgotten before each token."""

    kind: ClassVar[str] = "decaying"

    scale: float = 1.0
    """the most that a token can weigh"""

    def __post_init__(self):
        positive(scale=self.scale)

    def build(self, size: int) -> MakeRates:
        return partial(DecayingRates, scale=self.scale)


@dataclass(frozen=True)
class PlacedRatesRecipe:
    """As gated, times a learned weight of each place in the chunk: the rates of TTT-Linear and TTT-MLP."""

    kind: ClassVar[str] = "placed"

    base: float = 1.0
    """η₀, divided by the width of a head"""

    def __post_init__(self):
        positive(base=self.base)

    def build(self, size: int) -> MakeRates:
        return partial(PlacedRates, size=size, base=self.base)
