"""The vision transformer of Beyer et al. (2022), around any mixer, from patches or from pixels."""

from typing import NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers import MakeMixer
from mttt.models.embed import LearnedPositions, Patches, SinCosPositions, grid
from mttt.models.head import LinearHead, TanhHead
from mttt.models.pool import mean_of_real
from mttt.models.stack import Stack
from mttt.nn import LayerNorm
from mttt.nn.check import check_array, check_key, check_mask, check_whole
from mttt.nn.dense import at_least_float32, lecun_normal


class Size(NamedTuple):
    """How large a model is. Sizes with a name are in `mttt` itself.

    - `TINY` is (192, 12, 3) and `SMALL` (384, 12, 6): those of the paper
    - `MICRO_S` is (64, 2, 2), `MICRO_M` (64, 4, 2) and `MICRO_L` (96, 6, 3): for CPUs, minutes instead of days

    Fields:
    - dim: d, the width of a token
    - depth: how many blocks
    - heads: H, which divides d

    Example:

        >>> import mttt
        >>> mttt.SMALL, mttt.Size(128, 4, 4).dim
        (Size(dim=384, depth=12, heads=6), 128)
    """

    dim: int
    depth: int
    heads: int


TINY = Size(192, 12, 3)
"""The paper's ViT-Tiny."""
SMALL = Size(384, 12, 6)
"""The paper's ViT-Small."""
MICRO_S = Size(64, 2, 2)
"""For CPUs: minutes instead of days."""
MICRO_M = Size(64, 4, 2)
"""Twice as deep as `MICRO_S`."""
MICRO_L = Size(96, 6, 3)
"""Deeper and wider than `MICRO_M`."""


@runtime_checkable
class MakePositions(Protocol):
    """Draws the positions of a grid of tokens; position classes are their own makers."""

    def __call__(
        self, rows: int, columns: int, dim: int, *, key: PRNGKeyArray
    ) -> SinCosPositions | LearnedPositions: ...


@runtime_checkable
class MakeHead(Protocol):
    """Draws a head; head classes are their own makers."""

    def __call__(self, dim: int, classes: int, *, key: PRNGKeyArray) -> TanhHead | LinearHead: ...


class Traced(NamedTuple):
    """What `trace` of a model returns.

    Fields:
    - logits: of the classes, (classes,), of a `ViT`; of the next token at each place, (n, vocabulary), of an `LM`
    - losses: the inner losses of each block and head at t = 0 … T, (depth, heads, T + 1); None for mixers without an
      inner loop

    Example:

        >>> from functools import partial
        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> mixer = partial(mttt.TTT, learner=mttt.LinearLearner)
        >>> model = mttt.ViT((8, 8, 1), 10, size=mttt.Size(16, 2, 2), patch=4, mixer=mixer, key=jax.random.key(0))
        >>> traced = eqx.filter_jit(model.trace)(jnp.zeros((8, 8, 1)))
        >>> traced.logits.shape, traced.losses.shape
        ((10,), (2, 2, 2))
    """

    logits: Float[Array, "*n classes"]
    losses: Float[Array, "depth heads T+1"] | None


class ViT(eqx.Module):
    """The vision transformer, around any mixer: pre-LN blocks, final LN, mean over tokens, and a head.

    It is called as `model(image, *, mask=None, key=None)` with one image (height, width, channels), floats in [−1, 1],
    and returns the logits of its classes, (classes,). A batch is `jax.vmap`. The image's dtype is the dtype of
    computation; parameters, statistics, inner loops and logits stay float32.

    Arguments:
    - image_shape: (height, width, channels)
    - classes: how many there are
    - size: width, number of blocks and heads: `TINY`, `SMALL`, or a `Size`
    - patch: the side of a patch in pixels, which divides height and width; 1 makes every pixel a token
    - mixer: makes the mixer of each block, as `mixer(dim, heads, key=key)`
    - positions: makes the positions, as `positions(rows, columns, dim, key=key)`; `SinCosPositions` by default
    - embed_init: draws the kernel of the embedding (patch² · channels, d); Lecun's normal, the release's, by default
    - head: makes the head, as `head(dim, classes, key=key)`; `TanhHead` by default
    - remat: whether each block is recomputed in the backward pass: less memory for more time. False by default
    - key: random key for all parameters

    Example:

        >>> from functools import partial
        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> mixer = partial(mttt.TTT, learner=mttt.LinearLearner)
        >>> model = mttt.ViT((8, 8, 1), 10, size=mttt.Size(16, 2, 2), patch=4, mixer=mixer, key=jax.random.key(0))
        >>> eqx.filter_jit(model)(jnp.zeros((8, 8, 1))).shape
        (10,)

    Reference: Beyer et al. (2022), *Better plain ViT baselines for ImageNet-1k*, arXiv 2205.01580.
    """

    embed: Patches
    positions: SinCosPositions | LearnedPositions
    stack: Stack
    norm: LayerNorm
    head: TanhHead | LinearHead
    image_shape: tuple[int, int, int] = eqx.field(static=True)

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        classes: int,
        *,
        size: Size,
        patch: int,
        mixer: MakeMixer,
        positions: MakePositions = SinCosPositions,
        embed_init: jax.nn.initializers.Initializer = lecun_normal,
        head: MakeHead = TanhHead,
        remat: bool = False,
        key: PRNGKeyArray,
    ):
        height, width, channels = image_shape
        dim, depth, heads = size
        check_whole(height=height, width=width, channels=channels, classes=classes, dim=dim, depth=depth, heads=heads)
        check_key(key)
        embed_key, position_key, blocks_key, head_key = jax.random.split(key, 4)
        self.embed = Patches(patch, channels, dim, key=embed_key, kernel_init=embed_init)
        self.positions = positions(*grid((height, width), patch), dim, key=position_key)

        self.stack = Stack(dim, depth, heads, mixer=mixer, remat=remat, key=blocks_key)
        self.norm = LayerNorm(dim)
        self.head = head(dim, classes, key=head_key)
        self.image_shape = (height, width, channels)

    def __call__(
        self,
        image: Float[Array, "..."],
        *,
        mask: Bool[Array, " n"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, " classes"]:
        """Logits. With a key, random mini-batches of the inner loops are random; without, they are fixed.

        `mask` says which patches are real, row by row: the others are neither mixed nor counted.
        """
        return self._run(image, mask, key, trace=False).logits

    def trace(
        self,
        image: Float[Array, "..."],
        *,
        mask: Bool[Array, " n"] | None = None,
        key: PRNGKeyArray | None = None,
    ) -> Traced:
        """Logits, and the inner losses of all layers, for an image as `model(image)` takes it."""
        return self._run(image, mask, key, trace=True)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.head.logits.bias.shape[0]

    @property
    def depth(self) -> int:
        """How many blocks there are."""
        return self.stack.depth

    def tokens(self, image: Float[Array, "..."], mask: Bool[Array, " n"] | None = None) -> Float[Array, "n d"]:
        """What goes into the first block."""
        check_array("image", image)
        if image.shape != self.image_shape:
            batched = " (for a batch of images, use jax.vmap)" if image.shape[1:] == self.image_shape else ""
            raise ValueError(f"image of shape {image.shape}; this model was built for {self.image_shape}{batched}")
        if not jnp.issubdtype(image.dtype, jnp.floating):
            raise ValueError(
                f"image of dtype {image.dtype}: expected floats in [−1, 1]; bytes become image / 127.5 - 1"
            )
        rows, columns = grid(self.image_shape[:2], self.embed.patch)
        check_mask(mask, rows * columns)
        tokens = self.embed(image, mask)
        return tokens + self.positions().astype(tokens.dtype)

    def logits(self, tokens: Float[Array, "n d"], mask: Bool[Array, " n"] | None = None) -> Float[Array, " classes"]:
        """What becomes of that which comes out of the last block."""
        return self.head(mean_of_real(at_least_float32(self.norm(tokens)), mask))[0]

    def _run(
        self, image: Float[Array, "..."], mask: Bool[Array, " n"] | None, key: PRNGKeyArray | None, trace: bool
    ) -> Traced:
        tokens, losses = self.stack(self.tokens(image, mask), mask=mask, key=key, trace=trace)
        return Traced(self.logits(tokens, mask), losses)
