"""A recipe: everything that decides a training, as plain frozen data."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import jax

from mttt.data import Spec
from mttt.fields import FieldError
from mttt.mixers.heads import near_heads
from mttt.models import (
    MICRO_L,
    MICRO_M,
    MICRO_S,
    SMALL,
    TINY,
    LearnedPositions,
    LinearHead,
    SinCosPositions,
    Size,
    TanhHead,
    ViT,
)
from mttt.models.embed import grid
from mttt.nn.dense import lecun_normal, xavier_uniform
from mttt.outer import Plan
from mttt.recipes.check import not_negative, positive
from mttt.recipes.data import DataRecipe, DigitsRecipe
from mttt.recipes.lm import LMRecipe
from mttt.recipes.mixers import MixerRecipe
from mttt.recipes.outer import AdamRecipe, ExactRecipe, OuterRecipe
from mttt.recipes.ttt import TTTRecipe

SIZES: dict[str, Size] = {
    "micro-s": MICRO_S,
    "micro-m": MICRO_M,
    "micro-l": MICRO_L,
    "tiny": TINY,
    "small": SMALL,
}


@dataclass(frozen=True)
class ViTRecipe:
    """A vision transformer."""

    kind: ClassVar[str] = "vit"
    implied: ClassVar[bool] = True  # by recipes that were written before there was another model

    size: Literal["micro-s", "micro-m", "micro-l", "tiny", "small"] = "micro-m"
    """width × blocks × heads: micro-s 64×2×2, micro-m 64×4×2, micro-l 96×6×3, tiny 192×12×3, small 384×12×6"""
    dim: int | None = None
    """width d instead of the size's"""
    depth: int | None = None
    """number of blocks instead of the size's"""
    heads: int | None = None
    """number of heads instead of the size's"""
    patch: int = 1
    """side of a patch; 1 makes every pixel a token"""
    positions: Literal["sincos", "learned"] = "learned"
    """fixed 2-D sines and cosines, or learned vectors"""
    embedding: Literal["lecun", "xavier"] = "lecun"
    """how to draw the embedding of patches: the paper's, or smaller, so that pixels do not drown their positions"""
    head: Literal["tanh", "linear"] = "tanh"
    """tanh: the paper's, dense + tanh and a map that starts at zero; linear: a map alone, which learns sooner"""
    remat: bool = False
    """recompute each block in the backward pass: less memory, more time"""
    mixer: MixerRecipe = field(default_factory=TTTRecipe)
    """what mixes the tokens"""

    def __post_init__(self):
        positive(2**17, dim=self.dim, heads=self.heads)
        positive(2**12, depth=self.depth)
        positive(2**15, patch=self.patch)

    def sizes(self) -> Size:
        """Width, blocks and heads."""
        size = SIZES[self.size]
        return Size(self.dim or size.dim, self.depth or size.depth, self.heads or size.heads)

    def tokens(self, spec: Spec) -> int:
        """n, of one input."""
        height, width, _ = spec.inputs.shape
        rows, columns = grid((height, width), self.patch)
        return rows * columns

    def _check_heads(self, size: Size) -> None:
        """Not when the recipe is made: what is changed part by part may pass by sizes that do not fit."""
        if size.dim % size.heads == 0:
            return
        if self.heads is not None or self.dim is None:
            reason = f"does not divide the width {size.dim}; try {near_heads(size.dim, size.heads)}"
            raise FieldError("model.heads", size.heads, reason)
        low = size.dim // size.heads * size.heads
        near = f"{low or ''} or {low + size.heads}".removeprefix(" or ")
        raise FieldError("model.dim", size.dim, f"is not a multiple of the {size.heads} heads; try {near}")

    def build(self, spec: Spec, *, dtype: str, key: jax.Array) -> ViT:
        """The model. It computes in the dtype of its images, so `dtype` makes no difference."""
        del dtype
        size = self.sizes()
        self._check_heads(size)
        return ViT(
            spec.inputs.shape,
            len(spec.classes),
            size=size,
            patch=self.patch,
            mixer=self.mixer.build(self.tokens(spec)),
            positions=SinCosPositions if self.positions == "sincos" else LearnedPositions,
            embed_init=lecun_normal if self.embedding == "lecun" else xavier_uniform,
            head=TanhHead if self.head == "tanh" else LinearHead,
            remat=self.remat,
            key=key,
        )


ModelRecipe = ViTRecipe | LMRecipe


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training."""

    data: DataRecipe = field(default_factory=DigitsRecipe)
    """what to learn from"""
    model: ModelRecipe = field(default_factory=ViTRecipe)
    """what learns"""
    outer: OuterRecipe = field(default_factory=ExactRecipe)
    """how the outer loop finds a direction"""
    optimizer: AdamRecipe = field(default_factory=AdamRecipe)
    """how the outer loop takes steps"""
    epochs: float = 30.0
    """passes over the training images, or over the text"""
    batch_size: int = 64
    """images a step, or windows of a text"""
    mixup: float = 0.0
    """α of the Beta distribution that mixes images and labels; 0 mixes none"""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """dtype of computation; parameters and inner loops stay float32"""
    seed: int = 0
    """of initial weights, order and randomness"""
    log_every: int = 10
    """steps between lines of training metrics"""
    evaluate_every: float = 1.0
    """epochs between evaluations"""
    checkpoint_every: float = 1.0
    """epochs between checkpoints"""
    evaluation_batch_size: int = 128
    """images or windows at a time in evaluation"""

    def __post_init__(self):
        positive(
            epochs=self.epochs,
            batch_size=self.batch_size,
            log_every=self.log_every,
            evaluate_every=self.evaluate_every,
            checkpoint_every=self.checkpoint_every,
            evaluation_batch_size=self.evaluation_batch_size,
        )
        not_negative(mixup=self.mixup)
        if not 0 <= self.seed < 2**32:
            raise FieldError("seed", self.seed, "must be at least 0 and less than 2³²")
        if self.batch_size % self.outer.parts:
            raise FieldError("outer.accumulate", self.outer.parts, f"does not divide batch_size={self.batch_size}")

    def check(self) -> None:
        """Refuse a model for other data. Not when the recipe is made: it may be changed part by part."""
        if self.model.kind != self.data.model_kind:
            what = "reads text" if self.model.kind == "lm" else "classifies images"
            reason = f"{what}, and the data are {self.data.kind}; choose {self.data.model_kind}, or other data"
            raise FieldError("model", self.model.kind, reason)

    def plan(self, examples: int) -> Plan:
        """The recipe in steps, for so many training examples."""
        if self.batch_size > examples:
            raise FieldError("batch_size", self.batch_size, f"there are {examples} training examples")
        per_epoch = examples / self.batch_size

        if self.epochs * per_epoch >= 2**31:
            raise FieldError("epochs", self.epochs, "that is more than 2³¹ steps")

        def in_steps(epochs: float) -> int:
            return max(1, round(epochs * per_epoch))

        return Plan(
            steps=max(1, int(self.epochs * per_epoch)),
            batch_size=self.batch_size,
            examples=examples,
            log_every=self.log_every,
            evaluate_every=in_steps(self.evaluate_every),
            checkpoint_every=in_steps(self.checkpoint_every),
        )
