"""A recipe: everything that decides a training, as plain frozen data."""

from dataclasses import dataclass, field
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from mttt.data import Spec
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
from mttt.outer import Plan, outer_optimizer, schedule
from mttt.recipes.check import fraction, not_negative, positive
from mttt.recipes.data import DataRecipe, DigitsRecipe
from mttt.recipes.mixers import MixerRecipe
from mttt.recipes.ttt import TTTRecipe

SIZES: dict[str, Size] = {
    "micro-s": MICRO_S,
    "micro-m": MICRO_M,
    "micro-l": MICRO_L,
    "tiny": TINY,
    "small": SMALL,
}


@dataclass(frozen=True)
class Model:
    """A vision transformer."""

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
        for name in ("dim", "depth", "heads"):
            if (value := getattr(self, name)) is not None:
                positive(**{name: value})
        positive(patch=self.patch)

    def build(self, spec: Spec, *, key: jax.Array) -> ViT:
        size = SIZES[self.size]
        height, width, channels = spec.inputs.shape
        rows, columns = grid((height, width), self.patch)
        return ViT(
            (height, width, channels),
            len(spec.classes),
            size=Size(self.dim or size.dim, self.depth or size.depth, self.heads or size.heads),
            patch=self.patch,
            mixer=self.mixer.build(rows * columns),
            positions=SinCosPositions if self.positions == "sincos" else LearnedPositions,
            embed_init=lecun_normal if self.embedding == "lecun" else xavier_uniform,
            head=TanhHead if self.head == "tanh" else LinearHead,
            remat=self.remat,
            key=key,
        )


@dataclass(frozen=True)
class OuterAdam:
    """Adam, clipped, with decoupled weight decay on kernels, linear warm-up, cosine to 0."""

    rate: float = 1e-3
    """peak rate"""
    warmup: float = 0.1
    """part of the training in which the rate rises from 0 to its peak"""
    decay: float = 1e-4
    """part of a kernel that a step takes away at the peak rate"""
    clip: float = 1.0
    """largest global norm of the gradient"""
    b1: float = 0.9
    """memory of the first moment"""
    b2: float = 0.999
    """memory of the second moment"""
    bfloat16_moment: bool = False
    """keep the first moment in bfloat16"""

    def __post_init__(self):
        positive(rate=self.rate, clip=self.clip)
        not_negative(decay=self.decay)
        fraction(warmup=self.warmup, b1=self.b1, b2=self.b2)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training."""

    data: DataRecipe = field(default_factory=DigitsRecipe)
    """what to learn from"""
    model: Model = field(default_factory=Model)
    """what learns"""
    optimizer: OuterAdam = field(default_factory=OuterAdam)
    """how the outer loop learns"""
    epochs: float = 30.0
    """passes over the training images"""
    batch_size: int = 64
    """images a step"""
    mixup: float = 0.0
    """α of the Beta distribution that mixes images and labels; 0 mixes none"""
    accumulate: int = 1
    """send each batch through the model in this many parts: less memory"""
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
    """images at a time in evaluation"""

    def __post_init__(self):
        positive(
            epochs=self.epochs,
            batch_size=self.batch_size,
            accumulate=self.accumulate,
            log_every=self.log_every,
            evaluate_every=self.evaluate_every,
            checkpoint_every=self.checkpoint_every,
            evaluation_batch_size=self.evaluation_batch_size,
        )
        not_negative(mixup=self.mixup)
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed={self.seed}: must be at least 0 and less than 2³²")
        if self.batch_size % self.accumulate:
            raise ValueError(f"accumulate={self.accumulate} does not divide batch_size={self.batch_size}")

    def plan(self, examples: int) -> Plan:
        """The recipe in steps, for so many training examples."""
        if self.batch_size > examples:
            raise ValueError(f"batch_size={self.batch_size}: there are {examples} training images")
        per_epoch = examples / self.batch_size

        if self.epochs * per_epoch >= 2**31:
            raise ValueError(f"epochs={self.epochs}: that is more than 2³¹ steps")

        def in_steps(epochs: float) -> int:
            return max(1, round(epochs * per_epoch))

        return Plan(
            steps=max(1, int(self.epochs * per_epoch)),
            batch_size=self.batch_size,
            evaluation_batch_size=self.evaluation_batch_size,
            accumulate=self.accumulate,
            mixup=self.mixup,
            dtype=jnp.dtype(self.dtype),
            log_every=self.log_every,
            evaluate_every=in_steps(self.evaluate_every),
            checkpoint_every=in_steps(self.checkpoint_every),
        )

    def build_optimizer(self, plan: Plan) -> tuple[optax.GradientTransformation, optax.Schedule]:
        o = self.optimizer
        rate = schedule(peak=o.rate, warmup=min(round(o.warmup * plan.steps), plan.steps - 1), steps=plan.steps)
        return (
            outer_optimizer(
                rate,
                peak=o.rate,
                decay=o.decay,
                clip=o.clip,
                b1=o.b1,
                b2=o.b2,
                bfloat16_moment=o.bfloat16_moment,
            ),
            rate,
        )

    def check(self, spec: Spec, examples: int) -> None:
        """Raise a ValueError with the reason if this cannot be built and run; nothing is computed."""
        plan = self.plan(examples)
        self.build_optimizer(plan)
        model = eqx.filter_eval_shape(self.model.build, spec, key=jax.random.key(0))
        image = jax.ShapeDtypeStruct(spec.inputs.shape, plan.dtype)
        eqx.filter_eval_shape(lambda model, image: model.trace(image, key=jax.random.key(0)), model, image)
