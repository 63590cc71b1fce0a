"""From an image to tokens."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.nn import Dense
from mttt.nn.check import check_whole
from mttt.nn.dense import lecun_normal
from mttt.nn.mask import keep_real


class Patches(eqx.Module):
    """Cut the image into p × p patches (p = 1: pixels) and embed each by one affine map.

    Lecun's initialisation is the release's. With few numbers in a patch it makes embeddings large beside learned
    positions, and short trainings learn sooner with Xavier's (results/presets.md).
    """

    dense: Dense
    patch: int = eqx.field(static=True)

    def __init__(
        self,
        patch: int,
        channels: int,
        dim: int,
        *,
        key: PRNGKeyArray,
        kernel_init: jax.nn.initializers.Initializer = lecun_normal,
    ):
        check_whole(patch=patch, channels=channels, dim=dim)
        self.dense = Dense(patch * patch * channels, dim, key=key, kernel_init=kernel_init)
        self.patch = patch

    def __call__(self, image: Float[Array, "h w c"], mask: Bool[Array, " n"] | None = None) -> Float[Array, "n d"]:
        """Tokens of all patches, row by row; patches where the mask is False may hold anything."""
        height, width, channels = image.shape
        rows, columns = grid((height, width), self.patch)
        pieces = image.reshape(rows, self.patch, columns, self.patch, channels).transpose(0, 2, 1, 3, 4)
        return self.dense(keep_real(pieces.reshape(rows * columns, -1), mask))


def grid(size: tuple[int, int], patch: int) -> tuple[int, int]:
    """Rows and columns of patches in an image of this height and width."""
    height, width = size
    check_whole(patch=patch)
    if height % patch or width % patch:
        sides = [p for p in range(1, min(size) + 1) if height % p == 0 and width % p == 0]
        raise ValueError(
            f"patch={patch} does not divide an image of {height}×{width}; try {', '.join(map(str, sides))}"
        )
    return height // patch, width // patch


class SinCosPositions(eqx.Module):
    """Fixed 2-D sine and cosine positions: a quarter of the features each for sin x, cos x, sin y, cos y.

    Called without arguments, positions give (rows · columns, d), row by row; `ViT` adds them to its tokens.

    Arguments:
    - rows: of patches
    - columns: of patches
    - dim: d, the width of a token, a multiple of 4
    - key: not used, as there is nothing to draw

    Example:

        >>> import jax, mttt
        >>> positions = mttt.SinCosPositions(2, 3, 16, key=jax.random.key(0))
        >>> positions().shape
        (6, 16)

    Reference: Beyer et al. (2022), *Better plain ViT baselines for ImageNet-1k*, arXiv 2205.01580.
    """

    rows: int = eqx.field(static=True)
    columns: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(self, rows: int, columns: int, dim: int, *, key: PRNGKeyArray):
        del key  # nothing to draw
        check_whole(rows=rows, columns=columns, dim=dim)
        if dim % 4:
            raise ValueError(f"dim={dim}: sin-cos positions need a multiple of 4; try {dim + 4 - dim % 4}")
        self.rows, self.columns, self.dim = rows, columns, dim

    def __call__(self) -> Float[Array, "n d"]:
        """The positions of all patches, row by row, (n, d)."""
        quarter = self.dim // 4
        frequencies = 10_000.0 ** (-np.arange(quarter) / max(quarter - 1, 1))

        def waves(count: int) -> Float[Array, "count half_d"]:
            """Of the places along one axis: the table of all places is never a constant of a program."""
            angles = np.arange(count)[:, None] * frequencies[None, :]
            return jnp.asarray(np.concatenate([np.sin(angles), np.cos(angles)], axis=1), dtype=float)

        shape = (self.rows, self.columns, 2 * quarter)
        x = jnp.broadcast_to(waves(self.columns)[None, :, :], shape)
        y = jnp.broadcast_to(waves(self.rows)[:, None, :], shape)
        return jnp.concatenate([x, y], axis=2).reshape(self.rows * self.columns, self.dim)


class LearnedPositions(eqx.Module):
    """One trained vector a position, drawn with a standard deviation of 1/√d: the paper's choice for pixels.

    Arguments:
    - rows: of patches
    - columns: of patches
    - dim: d, the width of a token
    - key: random key for the vectors

    Example:

        >>> import jax, mttt
        >>> positions = mttt.LearnedPositions(2, 3, 16, key=jax.random.key(0))
        >>> positions().shape
        (6, 16)
    """

    table: Float[Array, "n d"]

    def __init__(self, rows: int, columns: int, dim: int, *, key: PRNGKeyArray):
        check_whole(rows=rows, columns=columns, dim=dim)
        self.table = jax.random.normal(key, (rows * columns, dim)) * dim**-0.5

    def __call__(self) -> Float[Array, "n d"]:
        """The positions of all patches, row by row, (n, d)."""
        return self.table
