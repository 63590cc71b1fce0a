"""From the features of many tokens to those of their input."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from mttt.nn.check import check_tokens
from mttt.nn.mask import keep_real


def mean_of_real(tokens: Float[Array, "n d"], mask: Bool[Array, " n"] | None) -> Float[Array, "1 d"]:
    """The mean over the tokens that are real; 0 if none is.

    Arguments:
    - tokens: (n, d), floats
    - mask: (n,), True for real tokens; None: all are

    Returns: the mean, (1, d).

    Example:

        >>> import jax.numpy as jnp, mttt
        >>> tokens = jnp.array([[1.0, 2.0], [3.0, 4.0], [100.0, 100.0]])
        >>> mttt.mean_of_real(tokens, jnp.array([True, True, False])).tolist()
        [[2.0, 3.0]]
    """
    check_tokens(tokens, mask)
    if mask is None:
        return jnp.mean(tokens, axis=0, keepdims=True)
    count = jnp.maximum(jnp.sum(mask), 1).astype(tokens.dtype)
    return jnp.sum(keep_real(tokens, mask), axis=0, keepdims=True) / count
