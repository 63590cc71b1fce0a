"""Transformer blocks around any mixer, one after the other in a scan: one compilation, however many there are."""

from collections.abc import Callable
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mttt.mixers import MakeMixer
from mttt.mixers.causal import check_state
from mttt.mixers.trial import check_maker
from mttt.models.block import Block
from mttt.nn.axis import split_tokens
from mttt.nn.check import check_key, check_tokens, check_whole


class Stacked(NamedTuple):
    """What a `Stack` returns.

    Fields:
    - tokens: after the last block, (n, d)
    - losses: the inner losses of each block and head at t = 0 … T, (depth, heads, T + 1), as in `Mixed`; None if there
      is no inner loop, or `trace` did not ask for them

    Example:

        >>> from functools import partial
        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> mixer = partial(mttt.TTT, learner=mttt.LinearLearner)
        >>> stack = mttt.Stack(16, 3, 2, mixer=mixer, key=jax.random.key(0))
        >>> stacked = eqx.filter_jit(stack)(jnp.ones((10, 16)), trace=True)
        >>> stacked.tokens.shape, stacked.losses.shape
        ((10, 16), (3, 2, 2))
    """

    tokens: Float[Array, "n d"]
    losses: Float[Array, "depth heads T+1"] | None


@final
class Stack(eqx.Module):
    """`depth` transformer blocks around any mixer, in a scan: one compilation, however many there are. (n, d) → (n, d).

    It is called as `stack(tokens, *, mask=None, key=None, trace=False)` and returns `Stacked(tokens, losses)`. Stacks
    of causal mixers have a state and can go on; the blocks' states are stacked along depth.

    Arguments:
    - dim: d, the width of a token
    - depth: how many blocks
    - heads: of each mixer
    - mixer: makes the mixer of each block, as `mixer(dim, heads, key=key)`: a mixer class, or `functools.partial` of
      one
    - mlp_factor: how many times wider than d the MLPs' hidden layers are, 4 by default; 0 leaves them out
    - remat: whether each block is recomputed in the backward pass: less memory for more time. False by default
    - key: random key for all blocks

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> stack = mttt.Stack(16, 2, 2, mixer=mttt.SelfAttention, key=jax.random.key(0))
        >>> eqx.filter_jit(stack)(jnp.ones((10, 16)), mask=jnp.arange(10) < 6).tokens.shape
        (10, 16)
    """

    blocks: Block  # every array has a leading axis of depth
    remat: bool = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        depth: int,
        heads: int,
        *,
        mixer: MakeMixer,
        mlp_factor: int = 4,
        remat: bool = False,
        key: PRNGKeyArray,
    ):
        check_key(key)
        check_whole(dim=dim, heads=heads)
        check_whole(most=10_000, depth=depth)
        check_maker("mixer", mixer, "dim, heads, *, key", each="block")

        def make_block(key: PRNGKeyArray) -> Block:
            mixer_key, mlp_key = jax.random.split(key)
            return Block(mixer(dim, heads, key=mixer_key), dim, mlp_factor=mlp_factor, key=mlp_key)

        self.blocks = eqx.filter_vmap(make_block)(jax.random.split(key, depth))
        self.remat = remat

    @property
    def depth(self) -> int:
        """How many blocks there are."""
        return self.blocks.mixer_norm.scale.shape[0]

    def __call__(
        self,
        tokens: Float[Array, "n d"],
        *,
        mask: Bool[Array, " n"] | None = None,
        key: PRNGKeyArray | None = None,
        trace: bool = False,
    ) -> Stacked:
        """The tokens (n, d) after the last block, and the inner losses of all blocks if `trace` asks for them.

        `mask` (n,) is True for real tokens; `key` makes what is random random.
        """
        check_tokens(tokens, mask)

        def run_block(block: Block, tokens, key):
            mixed = block(tokens, mask=mask, key=key, trace=trace)
            return split_tokens(mixed.tokens), mixed.losses

        keys = None if key is None else jax.random.split(key, self.depth)
        return Stacked(*self.through(run_block, split_tokens(tokens), keys))

    def through(self, run: Callable[[Block, Any, Any], tuple[Any, Any]], tokens: Any, each: Any = None) -> Any:
        """`run` for block after block: it gets the block, the tokens and the block's own of `each`.

        It returns the tokens for the next block, and what else there is, which is stacked along depth.
        """
        arrays, rest = self._by_depth()

        def body(tokens, xs):
            arrays, own = xs
            return run(eqx.combine(arrays, rest), tokens, own)

        return jax.lax.scan(jax.checkpoint(body) if self.remat else body, tokens, (arrays, each))

    def start(self, dtype: Any = None) -> Any:
        """The state of each block before the first token, stacked along depth. `dtype` is that of the tokens."""
        arrays, rest = self._by_depth()
        return jax.vmap(lambda arrays: eqx.combine(arrays, rest).start(dtype))(arrays)

    def make_room(self, states: Any, count: int) -> Any:
        """States that can take `count` more tokens; only those of self-attention have to be made larger."""
        return self.blocks.make_room(states, count)

    def go_on(self, states: Any, tokens: Float[Array, "m d"]) -> tuple[Float[Array, "m d"], Any]:
        """The next tokens (m, d) of the sequence that the states have seen, and the next states."""
        check_tokens(tokens, None)
        check_state(states, jax.eval_shape(lambda: self.start(tokens.dtype)), type(self).__name__)
        states = self.make_room(states, tokens.shape[0])  # the scan of the blocks cannot
        return self.through(lambda block, tokens, state: block.go_on(state, tokens), tokens, states)

    def _by_depth(self) -> tuple[Block, Block]:
        """The blocks' arrays, which have an axis of depth, and the rest.

        A scalar has no such axis. It is a number that `jax.jit` traced, and all blocks share it.
        """
        return eqx.partition(self.blocks, lambda leaf: eqx.is_array(leaf) and leaf.ndim > 0)
