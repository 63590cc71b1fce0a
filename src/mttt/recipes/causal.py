"""Recipes of causal mixers."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from mttt.mixers import CausalSelfAttention
from mttt.models import MakeMixer


@dataclass(frozen=True)
class CausalSelfAttentionRecipe:
    """Self-attention to what came before, with rotary positions."""

    kind: ClassVar[str] = "causal-attention"

    def build(self, tokens: int) -> MakeMixer:
        return CausalSelfAttention


@dataclass(frozen=True)
class PlainCausalSelfAttentionRecipe:
    """Self-attention to what came before, without positions of its own."""

    kind: ClassVar[str] = "plain-causal-attention"

    def build(self, tokens: int) -> MakeMixer:
        return partial(CausalSelfAttention, positions=None)


CausalMixerRecipe = CausalSelfAttentionRecipe | PlainCausalSelfAttentionRecipe
