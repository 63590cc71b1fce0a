"""Transformer blocks around any mixer, one after the other in a scan: one compilation, however many there are."""

from typing import NamedTuple, Protocol, final, runtime_checkable

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers import Mixer
from mttt.mixers.trial import check_maker
from mttt.models.block import Block
from mttt.nn.axis import split_tokens
from mttt.nn.check import check_key, check_tokens, check_whole


@runtime_checkable
class MakeMixer(Protocol):
    """Draws one mixer; mixer classes are their own makers."""

    def __call__(self, dim: int, heads: int, *, key: PRNGKeyArray) -> Mixer: ...


class Stacked(NamedTuple):
    """The tokens after the last block; the inner losses of each block and head at t = 0 … T, if asked for."""

    tokens: Float[Array, "n d"]
    losses: Float[Array, "depth heads T+1"] | None


@final
class Stack(eqx.Module):
    """`depth` pre-LN blocks. One input, (n, d) → (n, d), and an optional mask of the real tokens.

    `remat` recomputes each block in the backward pass: less memory for more time.
    """

    blocks: Block  # every array has a leading axis of depth
    remat: bool = eqx.field(static=True)

    def __init__(self, dim: int, depth: int, heads: int, *, mixer: MakeMixer, remat: bool = False, key: PRNGKeyArray):
        check_key(key)
        check_whole(dim=dim, heads=heads)
        check_whole(most=10_000, depth=depth)
        check_maker("mixer", mixer, "dim, heads, *, key", each="block")

        def make_block(key: PRNGKeyArray) -> Block:
            mixer_key, mlp_key = jax.random.split(key)
            return Block(mixer(dim, heads, key=mixer_key), dim, key=mlp_key)

        self.blocks = eqx.filter_vmap(make_block)(jax.random.split(key, depth))
        self.remat = remat

    @property
    def depth(self) -> int:
        return self.blocks.mlp.up.bias.shape[0]

    def __call__(
        self,
        tokens: Float[Array, "n d"],
        *,
        mask: Bool[Array, " n"] | None = None,
        key: PRNGKeyArray | None = None,
        trace: bool = False,
    ) -> Stacked:
        check_tokens(tokens, mask)
        # A scalar has no axis of depth. It is a number that `jax.jit` traced, and all blocks share it.
        arrays, rest = eqx.partition(self.blocks, lambda leaf: eqx.is_array(leaf) and leaf.ndim > 0)

        def run_block(tokens, xs):
            arrays, key = xs
            mixed = eqx.combine(arrays, rest)(tokens, mask=mask, key=key, trace=trace)
            return split_tokens(mixed.tokens), mixed.losses

        body = jax.checkpoint(run_block) if self.remat else run_block
        keys = None if key is None else jax.random.split(key, self.depth)
        tokens, losses = jax.lax.scan(body, split_tokens(tokens), (arrays, keys))
        return Stacked(tokens, losses)
