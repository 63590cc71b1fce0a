"""The recipe of a language model."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal

import jax

from mttt.data import Spec
from mttt.fields import FieldError
from mttt.mixers import Convolved, Gated, MakeMixer
from mttt.mixers.heads import near_heads
from mttt.models import LM, LearnedPlaces, NoPlaces, Size, draw_small
from mttt.recipes.causal import CausalMixerRecipe
from mttt.recipes.causal_ttt import TTT_MLP, CausalTTTRecipe
from mttt.recipes.check import positive


@dataclass(frozen=True)
class LMRecipe:
    """A language model: bytes in, the next byte out."""

    kind: ClassVar[str] = "lm"

    dim: int = 128
    """width d"""
    depth: int = 4
    """number of blocks"""
    heads: int = 4
    """number of heads"""
    positions: Literal["none", "learned"] = "none"
    """learned: a vector for each place of the context, and none beyond it; without, the mixer knows the order itself"""
    drawn: Literal["xavier", "gpt2"] = "xavier"
    """how to draw the kernels of the blocks: Xavier's way, as ViT has it; or all small, as GPT-2 and nanoGPT do"""
    remat: bool = False
    """recompute each block in the backward pass: less memory, more time"""
    convolution: int = 0
    """width of a causal convolution of the tokens before every mixer; 0 is none"""
    gate: bool = False
    """multiply what comes out of every mixer by a gate, GELU of a map of its tokens"""
    mixer: CausalTTTRecipe | CausalMixerRecipe = field(default_factory=lambda: TTT_MLP)
    """what mixes the tokens"""

    def __post_init__(self):
        positive(2**17, dim=self.dim, heads=self.heads)
        positive(2**12, depth=self.depth)
        if not 0 <= self.convolution <= 2**10 or self.convolution == 1:
            raise FieldError("convolution", self.convolution, "must be 0 for none, or 2 to 1024 tokens")

    def _mixer(self, tokens: int) -> MakeMixer:
        """The mixer, with what is around it."""
        if isinstance(self.mixer, CausalTTTRecipe) and self.mixer.chunks.size > tokens:
            raise FieldError(
                "model.mixer.chunks.size",
                self.mixer.chunks.size,
                f"a window has {tokens} tokens, so no chunk would ever be complete, and nothing would be learned for "
                f"the chunk after it; take at most {tokens}, or a longer context",
            )
        made = self.mixer.build(tokens)
        made = partial(Convolved, mixer=made, width=self.convolution) if self.convolution else made
        return partial(Gated, mixer=made) if self.gate else made

    def sizes(self) -> Size:
        """Width, blocks and heads."""
        return Size(self.dim, self.depth, self.heads)

    def tokens(self, spec: Spec) -> int:
        """n, of one input: the last byte of a window is only predicted."""
        return spec.inputs.shape[0] - 1

    def build(self, spec: Spec, *, dtype: str, key: jax.Array) -> LM:
        """The model. `dtype` is that of computation."""
        if self.dim % self.heads:
            reason = f"does not divide the width {self.dim}; try {near_heads(self.dim, self.heads)}"
            raise FieldError("model.heads", self.heads, reason)
        n = self.tokens(spec)
        model = LM(
            vocabulary=len(spec.classes),
            size=self.sizes(),
            mixer=self._mixer(n),
            places=partial(LearnedPlaces, context=n) if self.positions == "learned" else NoPlaces,
            remat=self.remat,
            dtype=dtype,
            key=key,
        )
        return draw_small(model, key=jax.random.fold_in(key, 0)) if self.drawn == "gpt2" else model
