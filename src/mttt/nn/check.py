"""Refusing what a layer cannot be given, with one sentence: what came, what was expected, what to do."""

import math
from numbers import Integral
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from mttt.nn.roles import value_of


def check_array(name: str, given: Any) -> None:
    """`given` is an array, or stands for one while a function is traced."""
    if not isinstance(given, jax.Array | np.ndarray):
        raise TypeError(f"{name} of type {type(given).__name__}: expected an array, for example jnp.asarray({name})")


def check_tokens(tokens: Array, mask: Any) -> None:
    """Raise an error with the reason if these are not the tokens of one input, with a mask that fits."""
    check_array("tokens", tokens)
    if tokens.ndim != 2:
        raise ValueError(
            f"tokens of shape {tokens.shape}: expected one input, (n, d). For a batch of inputs, use jax.vmap"
        )
    if not tokens.shape[0]:
        raise ValueError(f"tokens of shape {tokens.shape}: there is no token; expected at least one")
    if not jnp.issubdtype(tokens.dtype, jnp.floating):
        raise ValueError(f"tokens of dtype {tokens.dtype}: expected floats, for example tokens.astype(jnp.float32)")
    check_mask(mask, tokens.shape[0])


def check_mask(mask: Any, n: int) -> None:
    """There is no mask, or one for n tokens."""
    if mask is None:
        return
    if not isinstance(mask, jax.Array | np.ndarray) or mask.shape != (n,) or mask.dtype != jnp.bool_:
        came = (
            f"mask of shape {mask.shape} and dtype {mask.dtype}"
            if isinstance(mask, jax.Array | np.ndarray)
            else f"mask of type {type(mask).__name__}"
        )
        raise ValueError(f"{came}: expected an array of shape ({n},) and dtype bool, True for real tokens")


def check_rows(rows: Any, width: int) -> None:
    """`rows` are floats, and as wide as the layer they are given to."""
    check_array("tokens", rows)
    if not jnp.issubdtype(rows.dtype, jnp.floating):
        raise ValueError(f"tokens of dtype {rows.dtype}: expected floats, for example tokens.astype(jnp.float32)")
    if rows.shape[-1:] != (width,):
        raise ValueError(f"tokens of shape {rows.shape}: this layer was built for tokens of width {width}")


def check_whole(least: int = 1, most: int = 10_000_000, **values: Any) -> None:
    """Every value is a whole number that can be meant: one that is too large would be found out by waiting."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise TypeError(f"{name}={value!r}: expected a whole number")
        if not least <= int(value) <= most:
            raise ValueError(f"{name}={value}: expected a whole number from {least} to {most:,}")


def check_key(key: Any) -> None:
    """`key` is one random key, new (`jax.random.key`) or old (`jax.random.PRNGKey`)."""
    if not isinstance(key, jax.Array | np.ndarray):
        raise TypeError(f"key={key!r}: expected a random key, for example jax.random.key(0)")
    new = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    if key.ndim != (0 if new else 1) or not (new or key.dtype == jnp.uint32):
        raise TypeError(
            f"key of shape {key.shape} and dtype {key.dtype}: expected one random key, for example jax.random.key(0)"
        )


def check_finite(above: float = -math.inf, **values: Any) -> None:
    """Every value is a finite number above a bound, or an array of such, as far as they are known."""
    for name, given in values.items():
        value = value_of(given)
        if isinstance(value, Tracer):
            continue
        dtype = np.asarray(value).dtype
        if not (jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.integer)):
            raise TypeError(f"{name}={value!r}: expected a number")
        if not np.all(np.isfinite(value) & (np.asarray(value) > above)):
            bound = "" if above == -math.inf else f" above {above:g}"
            raise ValueError(f"{name}={value}: expected a finite number{bound}")


def check_instance(name: str, given: Any, kind: type, example: str) -> None:
    """`given` is an instance of the kind, not a number and not the class."""
    if not isinstance(given, kind):
        came = repr(given) if isinstance(given, int | float | str | None) else f"of type {type(given).__name__}"
        raise TypeError(f"{name} is {came}; expected an instance of {kind.__name__}, for example {example}")
