"""The recipe of every row, at three scales. Within a scale all rows have the same recipe, but for the layer."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mttt.models import Size
from mttt.recipes import PRESETS
from mttt.recipes.data import IdxRecipe, PairsRecipe
from mttt.recipes.outer import AdamRecipe
from mttt.recipes.recipe import SIZES, Recipe, ViTRecipe
from mttt.studies.row import Look, Row

Seeds = Mapping[Look, int]
"""how many seeds rows have, by what they look at"""


@dataclass(frozen=True)
class Scale:
    """A recipe for patches and one for pixels, and what their sizes are."""

    name: str
    about: str
    tuning: str
    """what was chosen, with what"""
    looks: dict[Look, Recipe]
    sizes: dict[tuple[Look, str], dict[str, Any]]
    shapes: dict[Look, tuple[int, int, int]]
    """of an image: height, width, channels"""
    classes: dict[Look, int]
    points: int | None
    """evaluations during training of rows with curves; None: the recipe says it"""
    left_out: tuple[str, ...] = ()
    """rows that are not run"""
    why_left_out: str = ""
    seeds: Seeds = field(default_factory=lambda: {"patches": 3, "pixels": 3})
    """how many, unless others are asked for"""
    fresh: int = 0
    """seeds are counted from here: those below were seen before the plan was made"""

    def has(self, row: Row) -> bool:
        """Is there such a row at this scale?"""
        return row.look in self.looks

    def recipe(self, row: Row, *, seed: int, path: str | None = None) -> Recipe:
        """All that decides a run of a row. `path` is where the data are, if they cannot be found."""
        base = self.looks[row.look]
        model = replace(base.model, mixer=row.mixer, **self.sizes[row.look, row.size])
        data = base.data if path is None or not hasattr(base.data, "path") else replace(base.data, path=path)
        recipe = replace(base, model=model, data=data, seed=self.fresh + seed)
        if self.points is None:
            return recipe
        return replace(recipe, evaluate_every=base.epochs / (self.points if row.curves else 1))

    def size(self, row: Row) -> Size:
        """Width, blocks, heads."""
        changes = self.sizes[row.look, row.size]
        size = SIZES[changes["size"]]
        return Size(*(changes.get(name) or getattr(size, name) for name in Size._fields))


_SMALL = Recipe(
    data=IdxRecipe(),
    model=ViTRecipe(size="micro-s", patch=4, positions="sincos", head="linear"),
    optimizer=AdamRecipe(),
    epochs=0.512,  # 960 steps
    batch_size=32,
    log_every=24,
    checkpoint_every=0.128,
)

_PIXELS = replace(
    _SMALL,
    data=IdxRecipe(size=16),
    model=replace(_SMALL.model, patch=1, positions="learned", embedding="xavier"),
)

SCALES = {
    "small": Scale(
        "small",
        "Fashion-MNIST, 4 × 4 patches (n = 49) and 16 × 16 raw pixels (n = 256); two blocks, width 64, 2 heads "
        "(Small from pixels: width 128, 4 heads); batches of 32, half an epoch (960 steps), peak rate 1e-3",
        "All rows have the same recipe; nothing was tuned for a single row. Peak rate, decay, clipping and the inner "
        "rate η = 1 are the paper's. The rest was chosen so that a run takes minutes on two cores: data, width, depth, "
        "batch size, number of steps, warm-up over a tenth of them, no augmentation, a linear head and, from pixels, "
        "Xavier's embedding. The head was chosen after seven runs with self-attention from patches on these test "
        "images, the embedding after two runs with MTTT-MLP on the digits; both may favour the layer that they were "
        "tried with. So few steps show how fast a layer learns, not where a long training ends.",
        {
            "patches": _SMALL,
            "pixels": _PIXELS,
        },
        {
            ("patches", "small"): {"size": "micro-s"},
            ("pixels", "tiny"): {"size": "micro-s"},
            ("pixels", "small"): {"size": "micro-s", "dim": 128, "heads": 4},
        },
        {"patches": (28, 28, 1), "pixels": (16, 16, 1)},
        classes={"patches": 10, "pixels": 10},
        points=8,
    ),
    "decisive": Scale(
        "decisive",
        "From patches: two of the digits that ship with the package in opposite corners, are they the same? (chance: "
        "50 %; 4 × 4 patches, n = 16; 3,000 steps of 32 pictures). From pixels: Fashion-MNIST, 16 × 16 raw pixels "
        "(n = 256; 960 steps of 32), and the same pictures in 4 × 4 patches (n = 16). Two blocks, width 64, 2 heads "
        "(Small: width 128, 4 heads), peak rate 1e-3",
        "The plan of docs/studies.md was written before any run. All rows have the same recipe, and nothing was tuned "
        "for a single row. The task from patches, its number of steps and its rate were chosen after some twenty "
        "trainings with other seeds and other pairs (self-attention, linear attention, MTTT-Linear, MTTT-MLP); "
        "the recipe from pixels is that of the scale small.",
        {
            "patches": replace(
                _SMALL,
                data=PairsRecipe(),
                model=replace(_SMALL.model, patch=4, positions="learned", embedding="xavier"),
                epochs=1.46484375,  # 3000 steps
                log_every=60,
                checkpoint_every=0.5,
            ),
            "pixels": _PIXELS,
            "coarse": replace(_PIXELS, model=replace(_PIXELS.model, patch=4)),
        },
        {
            ("patches", "small"): {"size": "micro-s"},
            ("pixels", "tiny"): {"size": "micro-s"},
            ("pixels", "small"): {"size": "micro-s", "dim": 128, "heads": 4},
            ("coarse", "tiny"): {"size": "micro-s"},
        },
        {"patches": (16, 16, 1), "pixels": (16, 16, 1), "coarse": (16, 16, 1)},
        classes={"patches": 2, "pixels": 10, "coarse": 10},
        points=8,
        left_out=("longformer", "mttt-mlp-t2", "mttt-mlp-t3"),
        why_left_out="no verdict rests on it",
        seeds={"patches": 12, "pixels": 8, "coarse": 8},
        fresh=200,
    ),
    "paper": Scale(
        "paper",
        "ImageNet, 16 × 16 patches (n = 196, ViT-Small) and 224 × 224 raw pixels (n = 50,176, ViT-Tiny and ViT-Small); "
        "the recipe of Beyer et al. (2022): batches of 1024, 90 epochs, peak rate 1e-3",
        "Nothing was tuned: everything is the paper's.",
        {"patches": PRESETS["imagenet-patches"].recipe, "pixels": PRESETS["imagenet-pixels"].recipe},
        {
            ("patches", "small"): {"size": "small"},
            ("pixels", "tiny"): {"size": "tiny"},
            ("pixels", "small"): {"size": "small"},
        },
        {"patches": (224, 224, 3), "pixels": (224, 224, 3)},
        classes={"patches": 1000, "pixels": 1000},
        points=None,
        # An attention matrix of 2.5 billion numbers for each head; the paper leaves it out, too.
        left_out=("pixels-self-attention",),
        why_left_out="it does not fit in memory at this scale, nor at the paper's",
    ),
}
