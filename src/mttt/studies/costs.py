"""Parameters and FLOPs of every row of the paper's tables 1 and 3, counted twice, beside the paper's figures.

    mttt study costs --json costs.json

FLOPs are those of a forward pass, of one image more in a batch: counted from the model's program, which is traced and
never run (`mttt.count`), and by `formulas.py`. Relative FLOPs are relative to linear attention with identity map, of
ViT-Tiny in table 3.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from mttt.count import flops
from mttt.models import SMALL, TINY, LearnedPositions, SinCosPositions, Size, ViT
from mttt.models.embed import grid
from mttt.recipes.mixers import MixerRecipe
from mttt.studies import table1, table3
from mttt.studies.formulas import vit
from mttt.studies.notes import NOTES
from mttt.studies.paper import PRINTED, Printed

CLASSES = 1000
SIZES = {"tiny": TINY, "small": SMALL}
BASE = table1.LINEAR_ATTENTION.label
LAYERS: dict[str, MixerRecipe] = {
    row.label: row.mixer for row in (*table1.ROWS, *table3.ROWS) if row.look in ("patches", "pixels")
}


@dataclass(frozen=True)
class Images:
    """What a table's models look at."""

    side: int
    patch: int

    @property
    def tokens(self) -> int:
        rows, columns = grid((self.side, self.side), self.patch)
        return rows * columns


IMAGES = {1: Images(224, 16), 3: Images(224, 1)}


@dataclass(frozen=True)
class Cost:
    """A row of a table: ours, and what the paper printed. Ours are numbers; the paper's parameters are in millions."""

    layer: str
    table: int
    size: str
    parameters: int
    parameters_without_positions: int
    flops_counted: int
    flops_analytic: int
    relative_counted: float
    relative_analytic: float
    paper_parameters: float
    paper_relative_flops: float
    note: str

    def json(self) -> dict[str, Any]:
        """The row, for programs."""
        return asdict(self)


def make_vit(mixer: MixerRecipe, size: Size, images: Images) -> Callable[..., ViT]:
    """The ViT of a row, to be drawn. Patches have fixed positions, pixels have learned ones."""
    positions = LearnedPositions if images.patch == 1 else SinCosPositions
    shape = (images.side, images.side, 3)
    make = mixer.build(images.tokens)
    return partial(ViT, shape, CLASSES, size=size, patch=images.patch, mixer=make, positions=positions)


def _shapes(make: Callable[..., Any]) -> tuple[Any, Any]:
    """A module as the shapes of its arrays, and all else: nothing is drawn."""
    return eqx.partition(
        eqx.filter_eval_shape(make, key=jax.random.key(0)), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)
    )


def parameters(mixer: MixerRecipe, size: Size, images: Images) -> tuple[int, int]:
    """Numbers in the model: all, and without positions."""
    model, _ = _shapes(make_vit(mixer, size, images))
    count = lambda tree: sum(leaf.size for leaf in jax.tree.leaves(tree))  # noqa: E731
    return count(model), count(model) - count(model.positions)


def flops_of_one_more(make: Callable[..., Any], shape: tuple[int, ...]) -> int:
    """FLOPs of one more input in a batch: what is made of parameters alone is made once for all inputs."""
    arrays, rest = _shapes(make)

    def run(arrays: Any, batch: Any) -> Any:
        outputs = jax.vmap(lambda one: eqx.combine(arrays, rest)(one))(batch)
        return jax.tree.leaves(outputs)

    one, two = (flops(run, arrays, jax.ShapeDtypeStruct((many, *shape), jnp.float32)).useful for many in (1, 2))
    return two - one


def costs(
    printed: tuple[Printed, ...] = PRINTED,
    *,
    images: dict[int, Images] | None = None,
    sizes: dict[str, Size] | None = None,
    say: Callable[[str], None] = lambda words: None,
) -> list[Cost]:
    """Every row, counted. `images` and `sizes` may be others than the paper's."""
    images, sizes = images or IMAGES, sizes or SIZES
    counted: dict[Printed, int] = {}
    analytic: dict[Printed, int] = {}
    for row in printed:
        say(f"table {row.table}, ViT-{row.size.title()}: counting {row.layer}")
        mixer, size, look = LAYERS[row.layer], sizes[row.size], images[row.table]
        counted[row] = flops_of_one_more(make_vit(mixer, size, look), (look.side, look.side, 3))
        analytic[row] = vit(mixer, size, look.tokens, 3 * look.patch**2, CLASSES)
    bases = {row.table: row for row in reversed(printed) if row.layer == BASE}  # a table's first
    rows = []
    for row in printed:
        base = bases[row.table]
        everything, without = parameters(LAYERS[row.layer], sizes[row.size], images[row.table])
        rows.append(
            Cost(
                layer=row.layer,
                table=row.table,
                size=row.size,
                parameters=everything,
                parameters_without_positions=without,
                flops_counted=counted[row],
                flops_analytic=analytic[row],
                relative_counted=counted[row] / counted[base],
                relative_analytic=analytic[row] / analytic[base],
                paper_parameters=row.parameters,
                paper_relative_flops=row.flops,
                note=NOTES.get((row.table, row.layer), ""),
            )
        )
    return rows
