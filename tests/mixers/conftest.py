"""What a mixer costs, without running it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest


@pytest.fixture
def cost():
    """FLOPs and temporary bytes of a mixer for n tokens, by XLA."""

    def of(make, n, dim=16, heads=2):
        mixer = eqx.filter_eval_shape(lambda: make(dim, heads, key=jax.random.key(0)))
        arrays, rest = eqx.partition(mixer, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
        x = jax.ShapeDtypeStruct((n, dim), jnp.float32)
        compiled = jax.jit(lambda arrays, x: eqx.combine(arrays, rest)(x).tokens).lower(arrays, x).compile()
        return compiled.cost_analysis()["flops"], compiled.memory_analysis().temp_size_in_bytes

    return of
