"""A few tokens at a time: what is wider than a token exists for one block of tokens only.

What a learner makes of a token (for the MLP, arrays of four times its width) would otherwise be kept for all n tokens
until the outer backward pass. Here it is made again then, block by block, while it is small enough for a cache.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from mttt.inner.learner import Blockwise

Rows = PyTree[Array]  # every array has one row a token
R = TypeVar("R")


def block_size(learner: Any, n: int, block: int | None = None) -> int:
    """How many of n tokens a learner is to see at a time, at most: `block`, or 32√n / expansion (8√n for the MLP).

    Measured, not derived (docs/performance.md): smaller blocks take less memory, larger ones make better matmuls, and
    this was near the best time at 196 and at 12,544 tokens. A learner that is not `Blockwise` sees all tokens at once.
    """
    if block is not None and block < 1:
        raise ValueError(f"block={block}: a block holds at least one token; {n} takes all of them at once")
    if not isinstance(learner, Blockwise):
        return n
    return max(1, int(32 * math.isqrt(n) / learner.expansion)) if block is None else block


def _split(rows: Rows, at_most: int) -> tuple[Rows, Rows | None] | None:
    """Blocks of equal size and what is left over; None if there is nothing to split.

    The size is the largest divisor of the number of rows, if that is not much smaller than `at_most`; otherwise the
    rows are spread evenly and the last block is smaller.
    """
    n = jax.tree.leaves(rows)[0].shape[0]
    if n <= at_most:
        return None
    divisors = [size for size in range(at_most, at_most // 2, -1) if n % size == 0]
    size = divisors[0] if divisors else -(-n // -(-n // at_most))
    count = n // size
    blocks = jax.tree.map(lambda a: a[: count * size].reshape(count, size, *a.shape[1:]), rows)
    return blocks, jax.tree.map(lambda a: a[count * size :], rows) if count * size < n else None


def sum_over_blocks(function: Callable[[Rows], R], rows: Rows, at_most: int, *, again: bool = False) -> R:
    """The sum of function(block) over the blocks of rows; `again` recomputes also where there is only one block."""
    if (split := _split(rows, at_most)) is None:
        return jax.checkpoint(function)(rows) if again else function(rows)
    blocks, rest = split
    shapes = jax.eval_shape(function, jax.tree.map(lambda a: a[0], blocks))
    zeros = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)
    add = jax.checkpoint(lambda total, block: jax.tree.map(jnp.add, total, function(block)))
    total, _ = jax.lax.scan(lambda total, block: (add(total, block), None), zeros, blocks)
    return total if rest is None else add(total, rest)


def map_blocks(function: Callable[[Rows], Array], rows: Rows, at_most: int) -> Array:
    """function(rows), where function takes each row for itself."""
    if (split := _split(rows, at_most)) is None:
        return function(rows)
    blocks, rest = split
    again = jax.checkpoint(function)
    _, out = jax.lax.scan(lambda _, block: (None, again(block)), None, blocks)
    out = out.reshape(-1, *out.shape[2:])
    return out if rest is None else jnp.concatenate([out, again(rest)])
