"""What every layer is given: the tokens of one input."""

import jax.numpy as jnp
from jaxtyping import Array


def check_tokens(tokens: Array, mask: Array | None) -> None:
    """Raise a ValueError with the reason if these are not the tokens of one input, with a mask that fits."""
    if tokens.ndim != 2:
        raise ValueError(
            f"tokens of shape {tokens.shape}: expected one input, (n, d). For a batch of inputs, use jax.vmap"
        )
    if not tokens.shape[0]:
        raise ValueError(f"tokens of shape {tokens.shape}: there is no token; expected at least one")
    if mask is not None and (mask.shape != tokens.shape[:1] or mask.dtype != jnp.bool_):
        raise ValueError(
            f"mask of shape {mask.shape} and dtype {mask.dtype}: expected ({tokens.shape[0]},) and bool, True for each "
            "of the tokens that is real"
        )
