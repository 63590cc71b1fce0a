"""The language models that are compared: nanoGPT's first, then the same budget and the same block for each mixer.

Before each mixer is a short causal convolution, as in the models of which the recurrent ones are known. Without it a
state has to find out by itself which byte came just before.
"""

from dataclasses import dataclass, replace

from mttt.recipes import Recipe
from mttt.recipes.causal import (
    CausalEluLinearAttentionRecipe,
    CausalHyenaRecipe,
    CausalLinearAttentionRecipe,
    CausalMixerRecipe,
    CausalSelfAttentionRecipe,
    SlidingWindowRecipe,
)
from mttt.recipes.causal_ttt import DELTA_RULE, GATED_DELTA_RULE, TTT_LINEAR, TTT_MLP, CausalTTTRecipe
from mttt.recipes.lm import LMRecipe


@dataclass(frozen=True)
class TextRow:
    """A mixer in a language model."""

    name: str
    """what directories and `--only` call it"""
    label: str
    mixer: CausalTTTRecipe | CausalMixerRecipe
    convolution: int = 4
    """width of the convolution before it; 0 is none"""
    like_gpt: bool = False
    """learned positions, and all kernels drawn small: nanoGPT's model"""

    def recipe(self, base: Recipe, seed: int) -> Recipe:
        """The base with this row's model."""
        assert isinstance(base.model, LMRecipe)
        model = replace(base.model, mixer=self.mixer, convolution=self.convolution)
        if self.like_gpt:
            model = replace(model, positions="learned", drawn="gpt2")
        return replace(base, model=model, seed=seed)


NANOGPT = TextRow("nanogpt", "nanoGPT's model", CausalSelfAttentionRecipe(rotary=0.0), convolution=0, like_gpt=True)
ALONE = TextRow("self-attention-alone", "self-attention, no convolution", CausalSelfAttentionRecipe(), convolution=0)
ATTENTION = TextRow("self-attention", "self-attention", CausalSelfAttentionRecipe())
MLP = TextRow("ttt-mlp", "TTT-MLP, b = 16", TTT_MLP)
LINEAR = TextRow("ttt-linear", "TTT-Linear, b = 16", TTT_LINEAR)
DELTA = TextRow("delta-rule", "delta rule", DELTA_RULE)
GATED = TextRow("gated-delta-rule", "gated delta rule", GATED_DELTA_RULE)
ELU = TextRow("elu-linear-attention", "linear attention, elu + 1", CausalEluLinearAttentionRecipe())
IDENTITY = TextRow("linear-attention", "linear attention, identity", CausalLinearAttentionRecipe())
HYENA = TextRow("hyena", "Hyena", CausalHyenaRecipe())
SLIDING = TextRow("sliding-window", "sliding window of 64", SlidingWindowRecipe(window=64))
ROWS = (NANOGPT, ALONE, ATTENTION, MLP, LINEAR, DELTA, GATED, ELU, IDENTITY, SLIDING, HYENA)
