"""Inputs of several lengths without a compilation for each: padded to the next of a few lengths, and masked."""

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped


class Padded(NamedTuple):
    """Inputs of one length, and which of their tokens are real."""

    tokens: Shaped[np.ndarray, "b n *rest"]
    mask: Bool[np.ndarray, "b n"]


def bucket(n: int, lengths: Sequence[int]) -> int:
    """The smallest of the lengths that holds n tokens."""
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
    """Stack inputs (n, …) of several n, padded with zeros to the smallest of `lengths` that holds the longest of them.

    A program that is compiled for each of a few lengths then serves all inputs. `mask` is what mixers, stacks and
    models take: real tokens come out as if there were no padding.
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
