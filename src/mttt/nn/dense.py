"""Affine maps of tokens."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from mttt.nn.check import check_key, check_rows, check_whole

lecun_normal = jax.nn.initializers.lecun_normal()


def _uniform(fan: Callable[[int, int], float]) -> jax.nn.initializers.Initializer:
    """Uniform with variance 1/fan, as JAX's own, drawn as one row of numbers.

    The numbers are the same for any shape. XLA compiles a row, or a row for each head, in a quarter of the time.
    """

    def draw(key: PRNGKeyArray, shape: Any, dtype: Any = float, out_sharding: Any = None) -> Array:
        numbers = jax.random.uniform(key, (math.prod(shape),), jax.dtypes.canonicalize_dtype(dtype), -1)
        variance = np.asarray(1 / fan(*shape), numbers.dtype)
        return numbers.reshape(shape) * np.sqrt(3 * variance)

    return draw


fan_in_uniform = _uniform(lambda inputs, outputs: inputs)
fan_out_uniform = _uniform(lambda inputs, outputs: outputs)
xavier_uniform = _uniform(lambda inputs, outputs: (inputs + outputs) / 2)


def project(tokens: Float[Array, "n i"], weight: Float[Array, "i o"]) -> Float[Array, "n o"]:
    """Multiply in the tokens' dtype, whatever dtype the parameter is stored in.

    This is all of mixed precision: feed bfloat16 tokens and every large matmul is bfloat16.
    """
    check_rows(tokens, weight.shape[0])
    return tokens @ weight.astype(tokens.dtype)


class Dense(eqx.Module):
    """x ↦ xA + b for tokens as rows."""

    weight: Float[Array, "i o"]
    bias: Float[Array, " o"]

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        key: PRNGKeyArray,
        kernel_init: jax.nn.initializers.Initializer = xavier_uniform,
        bias_init: jax.nn.initializers.Initializer = jax.nn.initializers.zeros,
    ):
        check_whole(inputs=inputs, outputs=outputs)
        check_key(key)
        kernel_key, bias_key = jax.random.split(key)
        self.weight = kernel_init(kernel_key, (inputs, outputs))
        self.bias = bias_init(bias_key, (outputs,))

    def __call__(self, tokens: Float[Array, "n i"]) -> Float[Array, "n o"]:
        return project(tokens, self.weight) + self.bias.astype(tokens.dtype)[None, :]


def gelu(tokens: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """The tanh form, which the paper's release uses."""
    return jax.nn.gelu(tokens, approximate=True)


def at_least_float32(tokens: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """At least float32: for statistics and for the inner loop, which must not lose small updates."""
    return tokens if tokens.dtype.itemsize >= 4 else tokens.astype(jnp.float32)
