"""Inputs of several lengths without a compilation for each: padded to the next of a few lengths, and masked."""

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped


class Padded(NamedTuple):
    """What `pad_to_bucket` returns: inputs of one length, and which of their tokens are real.

    Fields:
    - tokens: (b, n, …), zeros where there is no token
    - mask: (b, n), True for real tokens

    Example:

        >>> import numpy as np, mttt
        >>> padded = mttt.pad_to_bucket([np.ones((3, 16)), np.ones((5, 16))], [4, 8])
        >>> padded.tokens.shape, padded.mask.sum(axis=1).tolist()
        ((2, 8, 16), [3, 5])
    """

    tokens: Shaped[np.ndarray, "b n *rest"]
    mask: Bool[np.ndarray, "b n"]


def bucket(n: int, lengths: Sequence[int]) -> int:
    """The smallest of the lengths that holds n tokens.

    Arguments:
    - n: a whole number
    - lengths: whole numbers, in any order

    Returns: one of `lengths`. If all are smaller than n, that is an error.

    Example:

        >>> import mttt
        >>> mttt.bucket(9, [8, 16, 32])
        16
    """
    for name, whole in [("n", n), *(("lengths", length) for length in lengths)]:
        if isinstance(whole, bool) or not isinstance(whole, Integral):
            raise TypeError(f"{name}: {whole!r} came; expected whole numbers")
    if not len(lengths):
        raise ValueError("no lengths to pad to; expected at least one")
    fitting = [length for length in lengths if length >= n]
    if not fitting:
        longest = max(lengths)
        raise ValueError(f"an input of n={n} tokens; the longest of the lengths is {longest}. Add one of at least {n}")
    return min(fitting)


def pad_to_bucket(inputs: Sequence[Shaped[np.ndarray, "_ *rest"]], lengths: Sequence[int]) -> Padded:
    """Stack inputs of several lengths, padded with zeros to the smallest of `lengths` that holds the longest of them.

    A program that is compiled for each of a few lengths then serves all inputs.

    Arguments:
    - inputs: arrays (n, …) of several n, alike in all other axes
    - lengths: whole numbers, in any order

    Returns: `Padded(tokens, mask)`. `mask` is what mixers, stacks and models take: real tokens come out as if there
    were no padding.

    Example:

        >>> import equinox as eqx, jax, mttt, numpy as np
        >>> inputs = [np.ones((3, 16), np.float32), np.ones((5, 16), np.float32)]
        >>> padded = mttt.pad_to_bucket(inputs, [4, 8])
        >>> layer = mttt.SelfAttention(16, 2, key=jax.random.key(0))
        >>> jax.vmap(lambda tokens, mask: layer(tokens, mask=mask).tokens)(*padded).shape
        (2, 8, 16)
    """
    if not inputs:
        raise ValueError("no inputs to pad; expected at least one")
    for each in inputs:
        if not hasattr(each, "shape") or not each.shape:
            raise TypeError(f"an input of type {type(each).__name__}; expected arrays of shape (n, …)")
    shapes = {each.shape[1:] for each in inputs}
    if len(shapes) > 1:
        raise ValueError(
            f"tokens of the shapes {', '.join(map(str, sorted(shapes)))}: expected one shape in all inputs"
        )
    n = bucket(max(len(each) for each in inputs), lengths)
    shape, dtype = (len(inputs), n, *shapes.pop()), np.result_type(*inputs)
    padded = Padded(np.zeros(shape, dtype), np.zeros(shape[:2], dtype=bool))
    for row, each in enumerate(inputs):
        padded.tokens[row, : len(each)] = each
        padded.mask[row, : len(each)] = True
    return padded
