"""What the outer backward pass keeps of the inner loop, and what it makes again. The choice changes no number."""

import abc
import math
from collections.abc import Callable
from typing import Any, TypeVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from mttt.inner.batching import Phase, Rows
from mttt.inner.learner import TokenwiseLearner
from mttt.nn.check import check_whole

Content = PyTree[Array]  # every array has one row a token
C = TypeVar("C")
R = TypeVar("R")
# An input of so many tokens keeps its problem: φ(x) and the targets are not made again, which saves a tenth of the
# time at n = 196. A longer one would pay for it with memory (docs/performance.md).
SHORT = 256
# A block has at least so many numbers, whatever they are worth in tokens: two small blocks compile longer than one, and
# there is no memory to be saved.
BLOCK = 128 * 64
# So many tokens of a sequence are read again at a time, at the most: what is kept of them is still in a cache then.
GROUP = 256


class Adjoint(eqx.Module):
    """What the outer backward pass keeps of the inner loop, and what it makes again.

    The choice changes no number but for rounding.

    To implement: `keeps_problem`, `sum`, `map`, `repeat` and `read`, which run the loop's sums, answers, steps and
    chunks so that they can be differentiated. An adjoint of your own leaves to another one what it does not change.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> class KeepAnswers(mttt.Adjoint):  # recompute all but the answers
        ...     other: mttt.Adjoint = mttt.Recompute()
        ...     def keeps_problem(self, tokens):
        ...         return self.other.keeps_problem(tokens)
        ...     def sum(self, function, content, learner, *, tokens, alone):
        ...         return self.other.sum(function, content, learner, tokens=tokens, alone=alone)
        ...     def map(self, function, content, learner):
        ...         return function(content)
        ...     def repeat(self, step, carry, phase):
        ...         return self.other.repeat(step, carry, phase)
        ...     def read(self, form, carry, chunks):
        ...         return self.other.read(form, carry, chunks)
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, adjoint=KeepAnswers(), key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    @abc.abstractmethod
    def keeps_problem(self, tokens: int) -> bool:
        """Whether the problem of so many tokens is posed once and kept, even if no row of it is looked at again."""

    @abc.abstractmethod
    def sum(self, function: Callable[[Content], R], content: Content, learner: Any, *, tokens: int, alone: bool) -> R:
        """function(content), a sum over rows of an input of so many tokens. `alone`: the loop has no other step."""

    @abc.abstractmethod
    def map(self, function: Callable[[Content], Array], content: Content, learner: Any) -> Array:
        """function(content), which takes each row for itself if the learner does."""

    @abc.abstractmethod
    def repeat(self, step: Callable[[C, Rows], tuple[C, Any]], carry: C, phase: Phase) -> tuple[C, Any]:
        """The steps of a phase, one after the other; what each gives besides the carry is stacked."""

    @abc.abstractmethod
    def read(self, form: Any, carry: C, chunks: Content) -> tuple[C, Array]:
        """`form.advance` on chunk after chunk (every array has a row a chunk): the last carry, all answers."""


def _scan(step: Callable[[C, Rows], tuple[C, Any]], carry: C, phase: Phase) -> tuple[C, Any]:
    if phase.steps == 1:  # a loop around one step still costs copies of what it carries
        carry, out = step(carry, phase.first())
        return carry, jax.tree.map(lambda a: a[None], out)
    arrays, rest = eqx.partition(carry, eqx.is_array)

    def body(arrays: Any, x: Any) -> tuple[Any, Any]:
        carry, out = step(eqx.combine(arrays, rest), phase.rows(x))
        return eqx.filter(carry, eqx.is_array), out

    arrays, outs = jax.lax.scan(body, arrays, phase.each, length=phase.steps)
    return eqx.combine(arrays, rest), outs


def read_plainly(form: Any, carry: C, chunks: Content) -> tuple[C, Array]:
    """A scan; automatic differentiation keeps what it needs of it."""
    arrays, rest = eqx.partition(carry, eqx.is_array)

    def body(arrays: Any, chunk: Any) -> tuple[Any, Any]:
        carry, answers, _ = form.advance(eqx.combine(arrays, rest), chunk)
        return eqx.filter(carry, eqx.is_array), answers

    arrays, answers = jax.lax.scan(body, arrays, chunks)
    return eqx.combine(arrays, rest), answers


@final
class Keep(Adjoint):
    """Keep everything, as automatic differentiation does: more memory, and nothing is computed twice.

    For short inputs. In a sequence it keeps W of every chunk.

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> make = lambda adjoint: mttt.TTT(16, 2, learner=mttt.MLPLearner, adjoint=adjoint, key=jax.random.key(0))
        >>> x = jax.random.normal(jax.random.key(1), (10, 16))
        >>> kept, recomputed = (eqx.filter_jit(make(how))(x).tokens for how in (mttt.Keep(), mttt.Recompute()))
        >>> bool(jnp.allclose(kept, recomputed, atol=1e-5))
        True
    """

    def keeps_problem(self, tokens: int) -> bool:
        return True

    def sum(self, function: Callable[[Content], R], content: Content, learner: Any, *, tokens: int, alone: bool) -> R:
        return function(content)

    def map(self, function: Callable[[Content], Array], content: Content, learner: Any) -> Array:
        return function(content)

    def repeat(self, step: Callable[[C, Rows], tuple[C, Any]], carry: C, phase: Phase) -> tuple[C, Any]:
        return _scan(step, carry, phase)

    def read(self, form: Any, carry: C, chunks: Content) -> tuple[C, Array]:
        return read_plainly(form, carry, chunks)


@final
class Recompute(Adjoint):
    """A few tokens at a time: what is wider than a token exists for one block of tokens only. This is the default.

    What a learner makes of a token (for the MLP, arrays of four times its width) would otherwise be kept for all n
    tokens until the outer backward pass. Here it is made again then, block by block, while it is small enough for a
    cache. Only a `TokenwiseLearner` can be shown a few tokens at a time; others see all of them. In a sequence, W is
    kept before each group of chunks, and the chunks of one group are read again at a time.

    Arguments:
    - block: how many tokens a block has, at most. By default about 32√n / expansion (8√n for the MLP), and in a
      sequence √(n/b) chunks of b tokens or 256 tokens, if that is fewer. That was measured, not derived: smaller blocks
      take less memory, larger ones make better matmuls

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> how = mttt.Recompute(block=4)  # blocks of 4, 4 and 2 tokens
        >>> layer = mttt.TTT(16, 2, learner=mttt.MLPLearner, adjoint=how, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape
        (10, 16)
    """

    block: int | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        if self.block is not None:
            check_whole(block=self.block)

    def keeps_problem(self, tokens: int) -> bool:
        return tokens <= SHORT

    def size(self, learner: Any, n: int, *, factor: int = 1) -> int:
        """How many of n tokens the learner is to see at a time, at most; `factor` times as many unless told."""
        if not isinstance(learner, TokenwiseLearner):
            return n
        return factor * max(1, int(32 * math.isqrt(n) / learner.expansion)) if self.block is None else self.block

    def _at_most(self, content: Content, learner: Any, tokens: int) -> int:
        told = self.block is not None or not isinstance(learner, TokenwiseLearner)
        least = 0 if told else BLOCK // jax.tree.leaves(content)[0].shape[1]
        return max(self.size(learner, tokens), least)

    def sum(self, function: Callable[[Content], R], content: Content, learner: Any, *, tokens: int, alone: bool) -> R:
        if (split := _split(content, self._at_most(content, learner, tokens))) is None:
            # One of several steps makes its activations again, like one of several blocks.
            again = isinstance(learner, TokenwiseLearner) and not alone
            return jax.checkpoint(function)(content) if again else function(content)
        blocks, rest = split
        shapes = jax.eval_shape(function, jax.tree.map(lambda a: a[0], blocks))
        zeros = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)
        add = jax.checkpoint(lambda total, block: jax.tree.map(jnp.add, total, function(block)))
        total, _ = jax.lax.scan(lambda total, block: (add(total, block), None), zeros, blocks)
        return total if rest is None else add(total, rest)

    def map(self, function: Callable[[Content], Array], content: Content, learner: Any) -> Array:
        # Answers are differentiated once, the inner loss twice: half the arrays, so twice the tokens unless told.
        if (split := _split(content, self.size(learner, _rows(content), factor=2))) is None:
            return function(content)
        blocks, rest = split
        again = jax.checkpoint(function)
        _, out = jax.lax.scan(lambda _, block: (None, again(block)), None, blocks)
        out = out.reshape(-1, *out.shape[2:])
        return out if rest is None else jnp.concatenate([out, again(rest)])

    def repeat(self, step: Callable[[C, Rows], tuple[C, Any]], carry: C, phase: Phase) -> tuple[C, Any]:
        return _scan(step, carry, phase)

    def read(self, form: Any, carry: C, chunks: Content) -> tuple[C, Array]:
        # Groups of chunks: the carry is kept before each group, and the chunks of one group are made again at a time.
        count = _rows(chunks)
        tokens = min(math.isqrt(count) * form.size, GROUP) if self.block is None else self.block
        if (split := _split(chunks, max(1, tokens // form.size))) is None:
            return read_plainly(form, carry, chunks)
        groups, rest = split
        arrays, static = eqx.partition(carry, eqx.is_array)

        @jax.checkpoint
        def group(arrays: Any, chunks: Any) -> tuple[Any, Any]:
            carry, answers = read_plainly(form, eqx.combine(arrays, static), chunks)
            return eqx.filter(carry, eqx.is_array), answers

        arrays, answers = jax.lax.scan(group, arrays, groups)
        answers = answers.reshape(-1, *answers.shape[2:])
        if rest is not None:
            arrays, last = group(arrays, rest)
            answers = jnp.concatenate([answers, last])
        return eqx.combine(arrays, static), answers


def _rows(content: Content) -> int:
    return jax.tree.leaves(content)[0].shape[0]


def _split(content: Content, at_most: int) -> tuple[Content, Content | None] | None:
    """Blocks of equal size and what is left over; None if there is nothing to split.

    The size is the largest divisor of the number of rows, if that is not much smaller than `at_most`; otherwise the
    rows are spread evenly and the last block is smaller.
    """
    n = _rows(content)
    if n <= at_most:
        return None
    divisors = [size for size in range(at_most, at_most // 2, -1) if n % size == 0]
    size = divisors[0] if divisors else -(-n // -(-n // at_most))
    count = n // size
    blocks = jax.tree.map(lambda a: a[: count * size].reshape(count, size, *a.shape[1:]), content)
    return blocks, jax.tree.map(lambda a: a[count * size :], content) if count * size < n else None
