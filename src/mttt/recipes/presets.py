"""Recipes with names: the paper's, exactly, and others that are sized for two CPU cores (results/presets.md)."""

from typing import NamedTuple

from mttt.recipes.augment import AugmentRecipe
from mttt.recipes.data import Cifar10Recipe, DigitsRecipe, FolderRecipe, IdxRecipe
from mttt.recipes.inner_optimizers import FixedRateRecipe
from mttt.recipes.lm import LMRecipe
from mttt.recipes.outer import AdamRecipe, ExactRecipe
from mttt.recipes.recipe import Recipe, ViTRecipe
from mttt.recipes.text import ShakespeareRecipe
from mttt.recipes.ttt import MTTT_MLP, MTTT_MLP_SGD4, TTTRecipe


class Preset(NamedTuple):
    """A recipe, and what to expect of it."""

    recipe: Recipe
    about: str


def _imagenet(data: FolderRecipe, model: ViTRecipe, *, mixup: float, accumulate: int = 1) -> Recipe:
    """The paper's recipe: that of Beyer et al. (2022), 90 epochs of batches of 1024; 10,000 steps of warm-up."""
    steps = 90 * 1_281_167 // 1024
    return Recipe(
        data=data,
        model=model,
        optimizer=AdamRecipe(rate=1e-3, warmup=10_000 / steps, decay=1e-4, clip=1.0, bfloat16_moment=True),
        epochs=90.0,
        batch_size=1024,
        outer=ExactRecipe(accumulate),
        mixup=mixup,
        log_every=50,
        evaluate_every=5.0,
        checkpoint_every=1.0,
    )


# For short trainings on two cores.
_PATCHES = ViTRecipe(size="micro-m", patch=4, positions="sincos", head="linear")
_PIXELS = ViTRecipe(
    size="micro-s",
    patch=1,
    positions="learned",
    embedding="xavier",
    head="linear",
    mixer=MTTT_MLP_SGD4,
)

# nanoGPT's recipe for CPUs: 2000 steps, 100 of them warm-up; its decay of 0.1 times the rate is 1e-4 at the peak.
_SHAKESPEARE = Recipe(
    data=ShakespeareRecipe(context=64),
    model=LMRecipe(dim=128, depth=4, heads=4, convolution=4),
    optimizer=AdamRecipe(rate=1e-3, warmup=0.05, decay=1e-4, b2=0.99, clip=1.0),
    epochs=1.5302,
    batch_size=12,
    log_every=50,
    evaluate_every=0.3,
    checkpoint_every=0.3,
)

PRESETS: dict[str, Preset] = {
    "digits": Preset(
        Recipe(
            data=DigitsRecipe(),
            # η = 8 learns in fewer epochs than the paper's η = 1: results/digits.md.
            model=ViTRecipe(
                size="micro-s",
                patch=1,
                positions="learned",
                embedding="xavier",
                mixer=TTTRecipe(optimizer=FixedRateRecipe(8.0)),
            ),
            optimizer=AdamRecipe(rate=3e-3),
            epochs=30.0,
            batch_size=32,
            evaluate_every=2.0,
            checkpoint_every=2.0,
        ),
        "MTTT-MLP on handwritten digits, 8×8 raw pixels: n = 64 tokens",
    ),
    "fashion-patches": Preset(
        Recipe(
            data=IdxRecipe(),
            model=_PATCHES,
            epochs=2.0,
            batch_size=64,
            log_every=50,
        ),
        "MTTT-MLP on Fashion-MNIST, 4×4 patches: n = 49 tokens",
    ),
    "fashion-pixels": Preset(
        Recipe(
            data=IdxRecipe(size=14),
            model=_PIXELS,
            epochs=1.0,
            batch_size=64,
            log_every=50,
        ),
        "MTTT-MLP, SGD T = 4, on Fashion-MNIST at 14×14 raw pixels: n = 196 tokens",
    ),
    "cifar10-patches": Preset(
        Recipe(
            data=Cifar10Recipe(augment=AugmentRecipe(crop="pad", flip=True)),
            model=_PATCHES,
            epochs=2.0,
            batch_size=64,
            log_every=50,
        ),
        "MTTT-MLP on CIFAR-10, 4×4 patches: n = 64 tokens",
    ),
    "cifar10-pixels": Preset(
        Recipe(
            data=Cifar10Recipe(size=16, augment=AugmentRecipe(flip=True)),
            model=_PIXELS,
            epochs=1.0,
            batch_size=64,
            log_every=50,
        ),
        "MTTT-MLP, SGD T = 4, on CIFAR-10 at 16×16 raw pixels: n = 256 tokens",
    ),
    "folder": Preset(
        Recipe(
            data=FolderRecipe(size=64, augment=AugmentRecipe(crop="inception", flip=True)),
            model=ViTRecipe(size="micro-m", patch=8, positions="sincos", head="linear"),
            epochs=60.0,
            batch_size=32,
            evaluate_every=5.0,
            checkpoint_every=5.0,
        ),
        "MTTT-MLP on your own pictures, a folder for each class, 64×64 in 8×8 patches: n = 64 tokens",
    ),
    "shakespeare": Preset(
        _SHAKESPEARE,
        "a language model of bytes on Shakespeare, n = 64 tokens; --data text is for text of yours",
    ),
    "imagenet-patches": Preset(
        _imagenet(
            FolderRecipe(augment=AugmentRecipe(crop="inception", flip=True, operations=2, magnitude=10)),
            ViTRecipe(size="small", patch=16, positions="sincos", mixer=MTTT_MLP),
            mixup=0.2,
        ),
        "the paper's: MTTT-MLP, ViT-Small on ImageNet, 16×16 patches: n = 196 tokens (made for accelerators)",
    ),
    "imagenet-pixels": Preset(
        _imagenet(
            FolderRecipe(augment=AugmentRecipe(crop="inception")),
            ViTRecipe(size="tiny", patch=1, positions="learned", remat=True, mixer=MTTT_MLP_SGD4),
            mixup=0.0,
            accumulate=128,  # the same step, eight images of 50,176 tokens at a time
        ),
        "the paper's: MTTT-MLP, SGD T = 4, ViT-Tiny on ImageNet from raw pixels: n = 50,176 tokens (for accelerators)",
    ),
}
DEFAULT = "digits"
