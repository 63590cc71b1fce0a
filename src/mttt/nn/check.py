"""Refusing what a layer cannot be given, with one sentence: what came, what was expected, what to do."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def check_tokens(tokens: Array, mask: Any) -> None:
    """Raise a ValueError with the reason if these are not the tokens of one input, with a mask that fits."""
    if tokens.ndim != 2:
        raise ValueError(
            f"tokens of shape {tokens.shape}: expected one input, (n, d). For a batch of inputs, use jax.vmap"
        )
    if not tokens.shape[0]:
        raise ValueError(f"tokens of shape {tokens.shape}: there is no token; expected at least one")
    if not jnp.issubdtype(tokens.dtype, jnp.floating):
        raise ValueError(f"tokens of dtype {tokens.dtype}: expected floats, for example tokens.astype(jnp.float32)")
    if mask is None:
        return
    if not isinstance(mask, jax.Array | np.ndarray) or mask.shape != tokens.shape[:1] or mask.dtype != jnp.bool_:
        came = (
            f"mask of shape {mask.shape} and dtype {mask.dtype}"
            if isinstance(mask, jax.Array | np.ndarray)
            else f"mask of type {type(mask).__name__}"
        )
        raise ValueError(
            f"{came}: expected an array of shape ({tokens.shape[0]},) and dtype bool, True for real tokens"
        )


def check_instance(name: str, given: Any, kind: type, example: str) -> None:
    """`given` is an instance of the kind, not a number and not the class."""
    if not isinstance(given, kind):
        came = repr(given) if isinstance(given, int | float | str | None) else f"of type {type(given).__name__}"
        raise TypeError(f"{name} is {came}; expected an instance of {kind.__name__}, for example {example}")
