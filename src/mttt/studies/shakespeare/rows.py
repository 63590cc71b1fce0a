"""The language models that are compared: nanoGPT's first, then the same budget for each mixer."""

from dataclasses import dataclass, replace

from mttt.recipes import Recipe
from mttt.recipes.causal import (
    CausalEluLinearAttentionRecipe,
    CausalMixerRecipe,
    CausalSelfAttentionRecipe,
    SlidingWindowRecipe,
)
from mttt.recipes.causal_ttt import DELTA_RULE, GATED_DELTA_RULE, TTT_LINEAR, TTT_MLP, CausalTTTRecipe
from mttt.recipes.lm import LMRecipe


@dataclass(frozen=True)
class TextRow:
    """A mixer in a language model without positions of its own."""

    name: str
    """what directories and `--only` call it"""
    label: str
    mixer: CausalTTTRecipe | CausalMixerRecipe
    like_gpt: bool = False
    """learned positions, and all kernels drawn small: nanoGPT's model"""

    def recipe(self, base: Recipe, seed: int) -> Recipe:
        """The base with this row's model."""
        assert isinstance(base.model, LMRecipe)
        model = replace(base.model, mixer=self.mixer)
        if self.like_gpt:
            model = replace(model, positions="learned", drawn="gpt2")
        return replace(base, model=model, seed=seed)


NANOGPT = TextRow("nanogpt", "self-attention, nanoGPT's model", CausalSelfAttentionRecipe(rotary=0.0), like_gpt=True)
ATTENTION = TextRow("self-attention", "self-attention, rotary", CausalSelfAttentionRecipe())
MLP = TextRow("ttt-mlp", "TTT-MLP, b = 16", TTT_MLP)
LINEAR = TextRow("ttt-linear", "TTT-Linear, b = 16", TTT_LINEAR)
DELTA = TextRow("delta-rule", "delta rule", DELTA_RULE)
GATED = TextRow("gated-delta-rule", "gated delta rule", GATED_DELTA_RULE)
ELU = TextRow("elu-linear-attention", "linear attention, elu + 1", CausalEluLinearAttentionRecipe())
SLIDING = TextRow("sliding-window", "sliding window of 64", SlidingWindowRecipe(window=64))
ROWS = (NANOGPT, ATTENTION, MLP, LINEAR, DELTA, GATED, ELU, SLIDING)
