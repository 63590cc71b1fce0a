"""The recipe of every row, at two scales. Within a scale all rows have the same recipe, but for the layer."""

from dataclasses import dataclass, replace
from typing import Any

from mttt.models import Size
from mttt.recipes import PRESETS
from mttt.recipes.data import IdxRecipe
from mttt.recipes.outer import AdamRecipe
from mttt.recipes.recipe import SIZES, Recipe, ViTRecipe
from mttt.studies.row import Look, Row


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
    classes: int
    points: int | None
    """evaluations during training of rows with curves; None: the recipe says it"""
    left_out: tuple[str, ...] = ()
    """rows that cannot be run"""

    def recipe(self, row: Row, *, seed: int, path: str | None = None) -> Recipe:
        """All that decides a run of a row. `path` is where the data are, if they cannot be found."""
        base = self.looks[row.look]
        model = replace(base.model, mixer=row.mixer, **self.sizes[row.look, row.size])
        data = base.data if path is None else replace(base.data, path=path)
        recipe = replace(base, model=model, data=data, seed=seed)
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
            "pixels": replace(
                _SMALL,
                data=IdxRecipe(size=16),
                model=replace(_SMALL.model, patch=1, positions="learned", embedding="xavier"),
            ),
        },
        {
            ("patches", "small"): {"size": "micro-s"},
            ("pixels", "tiny"): {"size": "micro-s"},
            ("pixels", "small"): {"size": "micro-s", "dim": 128, "heads": 4},
        },
        {"patches": (28, 28, 1), "pixels": (16, 16, 1)},
        classes=10,
        points=8,
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
        classes=1000,
        points=None,
        # An attention matrix of 2.5 billion numbers for each head; the paper leaves it out, too.
        left_out=("pixels-self-attention",),
    ),
}
